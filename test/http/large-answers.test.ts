import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLargeAnswers } from '../../src/http/auth/limits.ts';
import { type Service, startService } from './support/service.ts';

const replies = () => {
  const sent: ServerResponse[] = [];
  return {
    open: () => {
      const raw = new ServerResponse(new IncomingMessage(new Socket()));
      sent.push(raw);
      return { raw };
    },
    /** Closes its client. */
    end: async (index: number): Promise<void> => {
      sent[index]?.destroy();
      await turn();
      await turn();
    },
  };
};

describe('large answers', () => {
  test('of slow clients of one organization use up its own share, and another gets its answer at once', async () => {
    const { make } = createLargeAnswers();
    const { open, end } = replies();
    let made = 0;
    const ask = (organizationId: string) =>
      make(organizationId, open(), async () => {
        made += 1;
      });
    const greedy = Array.from({ length: 10 }, () => ask('org_a'));
    await turn();
    expect(made).toBe(4);
    await ask('org_b');
    expect(made).toBe(5);
    for (let index = 0; index < 6; index += 1) await end(index);
    await Promise.all(greedy);
    expect(made).toBe(11);
  });

  test('are refused to the organization that has most waiting', async () => {
    const { make } = createLargeAnswers();
    const { open, end } = replies();
    const answer = async () => 'made';
    const greedy = Promise.allSettled(Array.from({ length: 300 }, () => make('org_a', open(), answer)));
    expect(await make('org_b', open(), answer)).toBe('made');
    for (let index = 0; index < 300; index += 1) await end(index);
    const refused = (await greedy).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(300 - 4 - 256);
    expect(refused[0]).toMatchObject({ reason: { code: 'unavailable' } });
  });

  test('end when their client reads nothing for too long', async () => {
    const { make } = createLargeAnswers({ silenceMsMax: 50 });
    const body = Buffer.alloc(20_000_000);
    const server = createServer((_request, raw) => {
      void make('org_a', { raw }, async () => raw.end(body));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const cutOff: Promise<unknown>[] = [];
    server.on('connection', (socket) => cutOff.push(once(socket, 'close')));
    const silent = Array.from({ length: 5 }, () => {
      const client = connect(port, '127.0.0.1', () => client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')).pause();
      client.on('error', () => undefined); // it is cut off
      return client;
    });
    await Promise.all(silent.map((client) => once(client, 'connect')));
    // The fifth waits for a place: all are closed only if the first four are cut off.
    await expect.poll(() => cutOff).toHaveLength(5);
    await Promise.all(cutOff);
    for (const client of silent) client.destroy();
    server.close();
    expect(await make('org_a', replies().open(), async () => 'made')).toBe('made');
  });

  test('that fail release their place with their reply', async () => {
    const { make } = createLargeAnswers();
    const { open, end } = replies();
    const failing = async () => {
      throw new Error('no such message');
    };
    for (let index = 0; index < 8; index += 1) {
      await expect(make('org_a', open(), failing)).rejects.toThrow('no such message');
      await end(index);
    }
    expect(await make('org_a', open(), async () => 'made')).toBe('made');
  });
});

describe('exports', () => {
  let service: Service;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  beforeAll(async () => {
    const base = await startService();
    const { readModels } = base.deps;
    await base.close();
    service = await startService({
      readModels: {
        ...readModels,
        waitFor: async () => true,
        suppressions: {
          ...readModels.suppressions,
          export: async () => {
            await released;
            return { items: [], next: null };
          },
        },
      },
    });
  });
  afterAll(() => service.close());

  const makeKey = async (): Promise<string> => {
    const organizationId = await service.makeOrganization();
    const domainId = await service.makeDomain(organizationId, `${organizationId.slice(-8)}.test`);
    return (await service.makeKey(organizationId, domainId)).value;
  };

  test('in progress are bounded for each organization, and another exports at the same time', async () => {
    const [key, other] = [await makeKey(), await makeKey()];
    const ask = (by: string) => service.request({ url: '/v1/suppressions/export', key: by });
    const exported = Array.from({ length: 4 }, () => ask(key));
    const refused = await Promise.race([ask(key), Promise.all(exported)]);
    expect(refused).toMatchObject({ statusCode: 429, headers: { 'retry-after': '30' } });
    const theirs = ask(other);
    release();
    expect((await Promise.all([...exported, theirs])).map(({ statusCode }) => statusCode)).toEqual([
      200, 200, 200, 200, 200,
    ]);
    expect((await ask(key)).statusCode).toBe(200);
  });
});
