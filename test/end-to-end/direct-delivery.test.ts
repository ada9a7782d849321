import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnyBody, type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { startNameServer, type TestNameServer } from '../support/name-server.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

const MX_ADDRESS = '127.0.0.21';

let data: Awaited<ReturnType<typeof newDataDir>>;
let dns: TestNameServer;
let mx: SMTPServer;
let program: Program;
let api: ApiClient;
const taken: {
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly name: string;
  readonly from: string;
}[] = [];

beforeAll(async () => {
  dns = await startNameServer({
    'b.test': { MX: [[10, 'mx.b.test']] },
    'mx.b.test': { A: [MX_ADDRESS] },
    'null.test': { MX: [[0, '.']] },
  });
  mx = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    onData: (stream, { envelope, secure, hostNameAppearsAs: name, remoteAddress: from }, callback) => {
      taken.push({ to: envelope.rcptTo.map(({ address }) => address), secure, name, from });
      stream.resume().on('end', () => callback());
    },
  });
  const listening = mx.listen(0, MX_ADDRESS);
  await once(listening, 'listening');
  data = await newDataDir();
  program = await startProgram({
    dataDir: data.path,
    env: {
      MAIL_URL: 'direct:',
      SOURCE_ADDRESSES: '127.0.0.2',
      SOURCE_POOLS: 'bulk=127.0.0.3; example.test/transactional=127.0.0.4',
      ALLOW_PRIVATE_MX: 'true',
      DNS_SERVERS: dns.text,
      EHLO_NAME: 'sender.a.test',
      OUTBOX_TEST_MX_PORT: String((listening.address() as AddressInfo).port),
    },
  });
  api = apiClient(program.baseUrl, program.keys.live);
});
afterAll(async () => {
  await program.end('SIGTERM');
  await new Promise<void>((resolve) => mx.close(resolve));
  await dns.close();
  await data.remove();
});

/** Publishes all TXT records that the service requires for the domain of its first keys. */
const verifyFirstDomain = async (): Promise<void> => {
  const [{ id, records }] = (await api.get('/v1/domains')).body.data;
  const texts = records.filter(({ type }: AnyBody) => type === 'TXT');
  dns.change(Object.fromEntries(texts.map(({ name, value }: AnyBody) => [name, { TXT: [value] }])));
  expect((await api.post(`/v1/domains/${id}/verify`)).body).toMatchObject({ status: 'verified' });
};

/** Sends a message and waits until it is final. */
const settled = async (to: string, more: AnyBody = {}): Promise<AnyBody> => {
  const { status: sent, body } = await api.post('/v1/messages/send', {
    from: 'shop@example.test',
    to,
    subject: 'Hello',
    text: 'Hello',
    ...more,
  });
  expect([sent, body]).toMatchObject([202, { object: 'message' }]);
  return eventually(
    async () => (await api.get(`/v1/messages/${body.id}`)).body,
    ({ status }) => status === 'delivered' || status === 'bounced',
    20_000,
  );
};

describe('a service that delivers to the recipients’ own servers', () => {
  test('sends to the server of the domain over TLS, and introduces itself by its name', async () => {
    await verifyFirstDomain();
    expect(await settled('ann@b.test')).toMatchObject({ status: 'delivered' });
    expect(taken).toEqual([{ to: ['ann@b.test'], secure: true, name: 'sender.a.test', from: '127.0.0.4' }]);
  });

  test('sends each stream from the addresses of its pool', async () => {
    const bulk = { stream: 'bulk', unsubscribe: { url: 'https://example.test/leave' } };
    expect(await settled('bea@b.test', bulk)).toMatchObject({ status: 'delivered' });
    expect(taken.at(-1)).toMatchObject({ to: ['bea@b.test'], from: '127.0.0.3' });
  });

  test('sends nothing to a domain that accepts no mail or does not exist', async () => {
    const before = taken.length;
    expect(await settled('ann@null.test')).toMatchObject({ status: 'bounced' });
    expect(await settled('ann@none.test')).toMatchObject({ status: 'bounced' });
    expect(taken).toHaveLength(before);
  });

  test('records which server answered, and over which connection', async () => {
    const { id } = await settled('bob@b.test');
    const events = (await api.get(`/v1/messages/${id}/events`)).body.data;
    expect(events.find(({ type }: AnyBody) => type === 'message.delivered')).toMatchObject({
      data: { smtp: { code: 250, mx: 'mx.b.test', address: MX_ADDRESS, tls: 'TLSv1.3', policy: 'opportunistic' } },
    });
  });
});
