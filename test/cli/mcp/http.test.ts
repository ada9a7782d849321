import { request as httpRequest } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SESSIONS_PER_KEY_MAX, SESSIONS_PER_ORGANIZATION_MAX, serveHttp } from '../../../src/cli/mcp/http.ts';
import type { SerializedSession } from '../../../src/http/resources/members/members.ts';
import { clientOf, useCustomer } from '../customer/customer.ts';
import { call, dataIn, serverWith } from './tool-calls.ts';

const customer = useCustomer();
const { now } = customer;

describe('Streamable HTTP', () => {
  /** @param organizations overrides the service's answer for some keys. */
  const serve = async (organizations: Readonly<Record<string, string>> = {}) => {
    const served = await serveHttp({
      port: 0,
      serverFor: async (key) => {
        const { body } = await clientOf(now.url, key).ask<SerializedSession>('GET', '/v1/session');
        const organizationId = organizations[key] ?? body.organization.id;
        return { server: serverWith({ url: now.url, key }), organizationId };
      },
    });
    onTestFinished(served.close);
    return new URL(served.url);
  };

  const connectTo = async (url: URL, key: string): Promise<Client> => {
    const client = new Client({ name: 'test', version: '0' });
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as never);
    onTestFinished(() => client.close());
    return client;
  };

  /** A request with headers that fetch does not allow. */
  const ask = (
    url: URL,
    headers: Readonly<Record<string, string>>,
    path = '/mcp',
    body = INITIALIZE,
  ): Promise<number> =>
    new Promise((resolve, reject) => {
      const accept = 'application/json, text/event-stream';
      const asked = httpRequest(
        {
          host: url.hostname,
          port: url.port,
          path,
          method: 'POST',
          headers: { 'content-type': 'application/json', accept, ...headers },
        },
        (response) => {
          response.destroy();
          resolve(response.statusCode ?? 0);
        },
      );
      asked.once('error', reject);
      asked.end(body);
    });

  const INITIALIZE = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '0' } },
  });

  test('serves each client with the permissions of its own key', async () => {
    const url = await serve();
    const id = await customer.send();
    const admin = await connectTo(url, now.key);
    expect(dataIn(await call(admin, 'explain_message', { message_id: id }))).toMatchObject({ message_id: id });
    const sender = await connectTo(url, (await customer.keyFor({ permissions: ['send'] })).value);
    expect(await call(sender, 'explain_message', { message_id: id })).toMatchObject({ isError: true });
  });

  test('rejects pages of other sites, other hosts, and requests without a key', async () => {
    const url = await serve();
    const authorization = `Bearer ${now.key}`;
    expect(await ask(url, { authorization })).toBe(200);
    expect(await ask(url, { authorization, origin: `http://localhost:${url.port}` })).toBe(200);
    expect(await ask(url, { authorization, origin: 'https://evil.example' })).toBe(403);
    expect(await ask(url, { authorization, origin: 'null' })).toBe(403);
    expect(await ask(url, { authorization, host: `evil.example:${url.port}` })).toBe(403);
    expect(await ask(url, { authorization, host: '127.0.0.1:1' })).toBe(403);
    expect(await ask(url, {})).toBe(401);
    expect(await ask(url, { authorization: 'Bearer hunter2' })).toBe(401);
    expect(await ask(url, { authorization: `Bearer ${'ob_live_'.padEnd(57, 'x')}` })).toBe(401);
    expect(await ask(url, { authorization }, '/')).toBe(404);
    expect(await ask(url, { authorization }, '/mcp', 'x'.repeat(5_000_000))).toBe(413);
    expect(await ask(url, { authorization }, '/mcp', '{')).toBe(400);
  });

  test('binds a session to the key that started it', async () => {
    const url = await serve();
    const client = await connectTo(url, now.key);
    const session = (client.transport as StreamableHTTPClientTransport | undefined)?.sessionId ?? '';
    const { value } = await customer.keyFor({});
    expect(await ask(url, { authorization: `Bearer ${value}`, 'mcp-session-id': session })).toBe(404);
    expect(await ask(url, { authorization: `Bearer ${now.key}`, 'mcp-session-id': 'x' })).toBe(404);
  });

  test('calls the service with the current key, so that revoking it ends the session', async () => {
    const url = await serve();
    const { id, value } = await customer.keyFor({});
    const client = await connectTo(url, value);
    await customer.revoke(id);
    expect(await call(client, 'find_messages')).toMatchObject({
      isError: true,
      text: expect.stringContaining('API key'),
    });
  });

  test('limits the number of sessions, and the share of each key', async () => {
    const url = await serve();
    const askTimes = async (times: number, key: string): Promise<readonly number[]> => {
      const authorization = `Bearer ${key}`;
      return Promise.all(Array.from({ length: times }, () => ask(url, { authorization })));
    };
    const first = await askTimes(SESSIONS_PER_KEY_MAX + 5, now.key);
    expect(first.filter((status) => status === 200)).toHaveLength(SESSIONS_PER_KEY_MAX);
    expect(first.filter((status) => status === 429)).toHaveLength(5);
    const { value } = await customer.keyFor({});
    expect(await askTimes(1, value)).toEqual([200]);
  });

  test('limits the sessions of each organization, whatever keys it uses', async () => {
    const { value: other } = await customer.keyFor({});
    const url = await serve({ [other]: 'org_other' });
    const keys = [now.key];
    while (keys.length < 4) keys.push((await customer.keyFor({})).value);
    const statuses: number[] = [];
    for (const key of keys)
      for (let count = 0; count < SESSIONS_PER_KEY_MAX; count += 1)
        statuses.push(await ask(url, { authorization: `Bearer ${key}` }));
    expect(statuses.filter((status) => status === 200)).toHaveLength(SESSIONS_PER_ORGANIZATION_MAX);
    expect(statuses.slice(SESSIONS_PER_ORGANIZATION_MAX)).toEqual(Array(30).fill(429));
    expect(await ask(url, { authorization: `Bearer ${other}` })).toBe(200);
  });

  test('gives the place of a session that its client ended to the next', async () => {
    const url = await serve();
    for (let ended = 0; ended <= SESSIONS_PER_ORGANIZATION_MAX; ended += 1) {
      const { transport } = await connectTo(url, now.key);
      await (transport as StreamableHTTPClientTransport | undefined)?.terminateSession();
    }
    expect(await ask(url, { authorization: `Bearer ${now.key}` })).toBe(200);
  });

  test('keeps no place for a key that the service rejects', async () => {
    const url = await serve();
    const authorization = `Bearer ${'ob_live_'.padEnd(57, 'x')}`;
    for (let count = 0; count <= SESSIONS_PER_KEY_MAX; count += 1) expect(await ask(url, { authorization })).toBe(401);
  });

  test('creates no session for requests that do not start one', async () => {
    const url = await serve();
    const authorization = `Bearer ${now.key}`;
    for (let count = 0; count <= SESSIONS_PER_KEY_MAX; count += 1)
      expect(await ask(url, { authorization }, '/mcp', '{')).toBe(400);
    expect(await ask(url, { authorization })).toBe(200);
  });
});
