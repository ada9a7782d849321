import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clockProblems, diskProblems, dnsProblems, permissionProblems, tlsProblems } from '../../src/cli/doctor.ts';
import type { RecordToPublish } from '../../src/domain/sending-domain/records-to-publish.ts';
import { type Resolver, ResolverUnavailable } from '../../src/lib/smtp/smtp.ts';
import { issueCertificate } from '../support/certificates.ts';
import { folderForTest } from '../support/place-for-test.ts';

const NAME = 'mail.example.test';

const answer = <Found>(records: readonly Found[]) => ({ records, exists: true, authenticated: false, aliases: [] });

/** The host name resolves to this machine. @param texts TXT records by host. */
const resolverWith = (texts: Readonly<Record<string, string>> = {}, addresses = ['127.0.0.1']): Resolver => ({
  txt: async (host) => answer(texts[host] === undefined ? [] : [texts[host]]),
  mx: async () => answer([]),
  addresses: async () => answer(addresses.map((address) => ({ address, family: 4 as const }))),
  tlsa: async () => answer([]),
});

const startTls = async (certificate: { certificate: string; key: string }): Promise<string> => {
  const server = createServer({ cert: certificate.certificate, key: certificate.key }, (socket) => socket.end());
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return `https://${NAME}:${(server.address() as AddressInfo).port}`;
};

describe('the public URL', () => {
  const look = (url: string | null, resolver = resolverWith()) => tlsProblems(url, { resolver, now: new Date() });

  test('has no certificate without HTTPS', async () => {
    expect(await look('http://mail.example.test')).toEqual([]);
    expect(await look(null)).toEqual([]);
  });

  test('is reported, with a remedy, if clients reject its certificate', async () => {
    const authority = issueCertificate({});
    const self = await startTls(issueCertificate({ names: [NAME] }));
    expect(await look(self)).toEqual([
      expect.stringMatching(/: the certificate is self-signed: get one from a public authority/),
    ]);
    const unknown = await startTls(issueCertificate({ names: [NAME], issuer: authority }));
    expect(await look(unknown)).toEqual([expect.stringContaining('the intermediate certificates are missing')]);
  });

  test('is reported if it has no address or does not answer', async () => {
    expect(await look(`https://${NAME}:1`)).toEqual([
      expect.stringContaining('no TLS connection from this machine (ECONNREFUSED)'),
    ]);
    expect(await look(`https://${NAME}:1`, resolverWith({}, []))).toEqual([
      expect.stringContaining('has no DNS address'),
    ]);
    const silent: Resolver = { ...resolverWith(), addresses: () => Promise.reject(new ResolverUnavailable()) };
    expect(await look(`https://${NAME}:1`, silent)).toEqual([expect.stringContaining('DNS did not answer')]);
  });
});

describe('the clock', () => {
  const database = (offMs: number) =>
    ({ query: async () => ({ rows: [{ ms: Date.now() + offMs }] }) }) as unknown as Parameters<typeof clockProblems>[0];

  test.each([0, 1_500, -1_500])('may differ by %i ms', async (offMs) => {
    expect(await clockProblems(database(offMs))).toEqual([]);
  });

  test.each([60_000, -60_000])('is reported if it differs by %i ms', async (offMs) => {
    expect(await clockProblems(database(offMs))).toEqual([
      expect.stringMatching(/differ by (60\.0|59\.\d) s: run chrony/),
    ]);
  });
});

describe('files', () => {
  test('that others can read or write are reported, with the command that fixes it', async () => {
    const dataDir = join(await folderForTest(), 'data');
    await mkdir(dataDir, { mode: 0o755 });
    const key = join(dataDir, 'tls.key');
    const secret = join(dataDir, 'secret-key');
    for (const path of [key, secret]) await writeFile(path, 'x', { mode: 0o600 });
    const config = { dataDir, tlsFiles: { cert: 'x', key }, webhookTlsFiles: undefined };
    expect(await permissionProblems(config)).toEqual([]);
    await chmod(secret, 0o640);
    await chmod(key, 0o644);
    await chmod(dataDir, 0o777);
    const problems = await permissionProblems(config);
    expect(problems.map((problem) => /`(.*)`$/.exec(problem)?.[1])).toEqual([
      `chmod o-w ${dataDir}`,
      `chmod 600 ${secret}`,
      `chmod o-rwx ${key}`,
    ]);
    await chmod(key, 0o640); // a trusted group, such as Debian's ssl-cert
    expect(await permissionProblems(config)).toHaveLength(2);
  });

  test('that do not exist are no problem, and neither is a missing disk', async () => {
    const config = { dataDir: '/nonexistent', tlsFiles: undefined, webhookTlsFiles: undefined };
    expect(await permissionProblems(config)).toEqual([]);
    expect(await diskProblems('/nonexistent')).toEqual([]);
    expect(await diskProblems('/proc')).toEqual([
      expect.stringMatching(/^DATA_DIR \/proc has 0\.0 GB free of 0\.0 GB/),
    ]);
  });
});

describe('sending domains', () => {
  const record = (host: string, required = true): RecordToPublish => ({
    kind: 'ownership',
    type: 'TXT',
    host,
    value: 'outbox=1',
    required,
    advice: '',
  });

  test('whose required records are missing are reported with the records to publish', async () => {
    const records = [record('_outbox.example.test'), record('other.example.test', false)];
    const domains = [{ name: 'example.test', records }];
    expect(await dnsProblems(resolverWith(), domains)).toEqual([
      expect.stringMatching(/^domain example\.test: TXT _outbox\.example\.test: .*[^.]: publish outbox=1, then /),
    ]);
    expect(await dnsProblems(resolverWith({ '_outbox.example.test': 'outbox=1' }), domains)).toEqual([]);
  });

  test('are checked up to a maximum of fifty', async () => {
    const domains = Array.from({ length: 52 }, (_, at) => ({ name: `d${at}.test`, records: [] }));
    expect(await dnsProblems(resolverWith(), domains)).toEqual([expect.stringMatching(/^2 more domains/)]);
  });
});
