import type { LookupAddress } from 'node:dns';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createHttpWebhookTarget } from '../../../src/adapters/webhook-target/http.ts';
import type { WebhookPost, WebhookTarget } from '../../../src/domain/ports/webhooks.ts';
import { asking } from '../../lib/smtp/dns/asking.ts';
import { freePort } from '../../support/free-port.ts';

const PUBLIC: LookupAddress = { address: '93.184.215.14', family: 4 };
const LOOPBACK: LookupAddress = { address: '127.0.0.1', family: 4 };

const target = (
  allowLoopback: boolean,
  lookupAll?: (host: string) => Promise<readonly LookupAddress[]>,
): WebhookTarget => {
  const made = createHttpWebhookTarget({
    system: createSystem(),
    allowLoopback,
    ...(lookupAll === undefined ? {} : { lookupAll }),
  });
  onTestFinished(() => made.close());
  return made;
};

const server = async (listener: RequestListener): Promise<number> => {
  const made = createServer(listener);
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    made.close();
    made.closeAllConnections();
  });
  return (made.address() as AddressInfo).port;
};

const PRIVATE = 'must lead to a public address, by https';

const post = (url: string, timeoutMs = 2000, organizationId = 'org_1'): WebhookPost => ({
  organizationId,
  url,
  body: '{}',
  timeoutMs,
  headers: { 'content-type': 'application/json' },
});

describe('organizations', () => {
  test('share no connections: one whose posts hang at an origin is not in the way of another there', async () => {
    let hanging = 0;
    const end = Promise.withResolvers<void>();
    const port = await server(async (request, response) => {
      request.resume();
      if (request.url === '/hangs') {
        hanging += 1;
        await end.promise;
      }
      response.end('thanks');
    });
    const { post: send } = target(true);
    const posts = Array.from({ length: 20 }, () => send(post(`http://127.0.0.1:${port}/hangs`, 60_000, 'org_1')));
    await vi.waitFor(() => expect(hanging).toBe(16), { timeout: 20_000 }); // the limit of one organization for an origin
    expect((await send(post(`http://127.0.0.1:${port}/`, 60_000, 'org_2'))).status).toBe(200);
    expect(hanging).toBe(16);
    end.resolve();
    expect((await Promise.all(posts)).map(({ status }) => status)).toEqual(posts.map(() => 200));
  });
});

describe('names', () => {
  const ZONE = {
    'hook.customer.test': { A: ['93.184.215.14'] },
    'inside.customer.test': { A: ['10.0.0.1'] },
  };

  test('are resolved by the servers that the operator names, and by no others', async () => {
    const { resolver, server: nameServer } = await asking(ZONE);
    const made = createHttpWebhookTarget({ system: createSystem(), allowLoopback: false, resolver });
    onTestFinished(() => made.close());
    expect(await made.problemWith('https://hook.customer.test/')).toBeNull();
    expect(await made.problemWith('https://inside.customer.test/')).toBe(PRIVATE);
    expect(await made.problemWith('https://nobody.customer.test/')).toBe('has a host name that does not resolve');
    expect(new Set(nameServer.asked.map(({ name }) => name))).toEqual(
      new Set(['hook.customer.test', 'inside.customer.test', 'nobody.customer.test']),
    );
  });

  test('of this machine are resolved too while mail is captured', async () => {
    const { resolver } = await asking(ZONE);
    const made = createHttpWebhookTarget({ system: createSystem(), allowLoopback: true, resolver });
    onTestFinished(() => made.close());
    expect(await made.problemWith('http://localhost:8080/')).toBeNull();
    expect(await made.problemWith('https://hook.customer.test/')).toBeNull();
    expect(await made.problemWith('https://inside.customer.test/')).toMatch(/^must lead to a public address/);
  });
});

describe('registering a webhook', () => {
  const publicly = (): WebhookTarget => target(false, async () => [PUBLIC]);

  test.each([
    'https://example.com/hook',
    'https://example.com:8443/',
    'https://93.184.215.14/',
    'https://[2606:4700::1]/',
  ])('accepts %s', async (url) => {
    expect(await publicly().problemWith(url)).toBeNull();
  });

  test.each([
    ['not a url', 'is not a URL'],
    ['http://example.com/', 'must be an https URL at a public address'],
    ['ftp://example.com/', 'must be an https URL at a public address'],
    ['https://user:secret@example.com/', 'must not contain a user name or password'],
    ['https://example.com:6379/', 'must use port 443 or 8443'],
  ])('refuses %s: it %s', async (url, problem) => {
    expect(await publicly().problemWith(url)).toBe(problem);
  });

  test.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '192.0.2.1',
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fc00::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:db8::1]',
    '[ff02::1]',
    '[::127.0.0.1]',
    '[::10.0.0.1]',
    '[::8.8.8.8]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b:1::7f00:1]',
    '[2001::7f00:1]',
    '[2606:4700::5efe:127.0.0.1]',
    '[2606:4700::200:5efe:10.0.0.1]',
    '[fe80::5efe:127.0.0.1]',
    '[4000::1]',
    '[100::1]',
    '[3fff::1]',
    '[5f00::1]',
    '[fec0::1]',
  ])('refuses the address %s, which is not public', async (host) => {
    expect(await publicly().problemWith(`https://${host}/`)).toBe(PRIVATE);
  });

  test('refuses a name when any of its addresses is not public', async () => {
    const both = target(false, async () => [PUBLIC, { address: '10.0.0.1', family: 4 }]);
    expect(await both.problemWith('https://example.com/')).toBe(PRIVATE);
  });

  test('refuses a name that does not resolve', async () => {
    const none = target(false, async () => {
      throw new Error('ENOTFOUND');
    });
    expect(await none.problemWith('https://example.com/')).toBe('has a host name that does not resolve');
  });

  test('accepts plain http and this machine only while mail is captured', async () => {
    expect(await target(true).problemWith('http://localhost:3000/hook')).toBeNull();
    expect(await target(true).problemWith('http://127.0.0.1:3000/hook')).toBeNull();
    expect(await target(true).problemWith('http://192.168.1.1/hook')).toBe(
      `${PRIVATE}; while mail is captured, http and this machine are taken too`,
    );
    expect(await target(false).problemWith('https://127.0.0.1/hook')).toBe(PRIVATE);
  });
});

describe('posting', () => {
  test('refuses this machine when mail is not captured, without connecting', async () => {
    let connections = 0;
    const port = await server(() => {
      connections += 1;
    });
    const answer = await target(false).post(post(`https://127.0.0.1:${port}/`));
    expect(answer).toMatchObject({ status: null, retryAfterSeconds: null });
    expect(connections).toBe(0);
  });

  test('refuses a name that resolved to a public address at registration and to this machine now', async () => {
    const answers = [PUBLIC, LOOPBACK];
    const rebinding = target(false, async () => [answers.shift() ?? LOOPBACK]);
    expect(await rebinding.problemWith('https://rebind.example/')).toBeNull();
    const answer = await rebinding.post(post('https://rebind.example/'));
    expect(answer).toMatchObject({
      status: null,
      text: 'rebind.example resolves to an address that is not public',
    });
  });

  test('does not follow a redirect', async () => {
    const paths: (string | undefined)[] = [];
    const port = await server(({ url }, response) => {
      paths.push(url);
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await target(true).post(post(`http://127.0.0.1:${port}/hook`))).toMatchObject({ status: 302 });
    expect(paths).toEqual(['/hook']);
  });

  test('keeps the first 1 kB of an answer that never ends', async () => {
    const port = await server((_request, response) => {
      const more = (): void =>
        void (response.write('x'.repeat(4096)) ? setImmediate(more) : response.once('drain', more));
      response.writeHead(200);
      more();
    });
    const answer = await target(true).post(post(`http://127.0.0.1:${port}/`));
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('x'.repeat(1024));
  });

  test('gives up without an answer in time, and judges an answer whose body is slow by its status', async () => {
    const silent = await server(() => undefined);
    expect(await target(true).post(post(`http://127.0.0.1:${silent}/`, 300))).toMatchObject({
      status: null,
      text: 'no answer within 0.3 s',
    });
    const slow = await server((_request, response) => void response.writeHead(200).write('begun'));
    expect(await target(true).post(post(`http://127.0.0.1:${slow}/`, 300))).toMatchObject({
      status: 200,
      text: 'begun',
    });
  });

  test('reads Retry-After in seconds and as a date', async () => {
    const headers = ['120', new Date(Date.now() + 60_000).toUTCString(), 'soon'];
    const port = await server(
      (_request, response) => void response.writeHead(503, { 'retry-after': headers.shift() }).end(),
    );
    const asked = async (): Promise<number | null> =>
      (await target(true).post(post(`http://127.0.0.1:${port}/`))).retryAfterSeconds;
    expect(await asked()).toBe(120);
    expect(await asked()).toBeGreaterThan(57);
    expect(await asked()).toBeNull();
  });

  test('says why it could not connect', async () => {
    const port = await freePort();
    expect(await target(true).post(post(`http://127.0.0.1:${port}/`))).toMatchObject({
      status: null,
      text: 'no answer: ECONNREFUSED',
    });
  });
});
