import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { followRenewals } from '../../src/composition/read-service-config.ts';
import { serversOffered, startSubmission } from '../../src/composition/start-api.ts';
import { readConfig } from '../../src/config.ts';
import { StartRefused } from '../../src/lib/async/async.ts';
import { type Service, startService } from '../http/support/service.ts';
import { talkSmtp } from '../submission/support/smtp-talk.ts';
import { type TlsPair, writeTlsPair } from '../submission/support/tls-pair.ts';
import { silentLogger } from '../support/logger.ts';

let service: Service;
let folder: string;
let files: TlsPair;
beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), 'outbox-tls-'));
  files = await writeTlsPair(folder);
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

const start = (environment: Readonly<Record<string, string>>) =>
  startSubmission(readConfig(environment), { deps: service.deps, ...service.server.shared });

test('without a port, no mail is accepted by SMTP', async () => {
  expect(await start({})).toBeUndefined();
});

test('with a port, mail is accepted under the configured name, with the certificate from the files, until the stop', async () => {
  const running = await start({
    SUBMISSION_PORT: '0',
    EHLO_NAME: 'mail.example.com',
    TLS_CERT_FILE: files.cert,
    TLS_KEY_FILE: files.key,
  });
  const port = running?.port ?? 0;
  const talk = await talkSmtp(port);
  expect(talk.greeting).toBe('220 mail.example.com ESMTP Outbox');
  await talk.ask('EHLO client.test\r\n');
  expect(await talk.ask('STARTTLS\r\n')).toMatch(/^220/);
  const secure = connectTls({ socket: talk.socket, ca: await readFile(files.cert), servername: 'localhost' });
  await once(secure, 'secureConnect');
  expect(secure.authorized).toBe(true);
  secure.destroy();
  await running?.stop();
  await expect(talkSmtp(port)).rejects.toThrow('ECONNREFUSED');
});

test('with a TLS port, it listens there too, or only there', async () => {
  const files2 = { TLS_CERT_FILE: files.cert, TLS_KEY_FILE: files.key };
  const both = await start({ SUBMISSION_PORT: '0', SUBMISSION_TLS_PORT: '0', ...files2 });
  const secure = connectTls({ port: both?.tlsPort ?? 0, ca: await readFile(files.cert), servername: 'localhost' });
  const [greeting] = await once(secure, 'data');
  expect(String(greeting)).toMatch(/^220 /);
  secure.destroy();
  expect((await talkSmtp(both?.port ?? 0)).greeting).toMatch(/^220 /);
  await both?.stop();
  await expect(talkSmtp(both?.tlsPort ?? 0)).rejects.toThrow('ECONNREFUSED');
  const alone = await start({ SUBMISSION_TLS_PORT: '0', ...files2 });
  expect(alone?.port).toBeUndefined();
  await alone?.stop();
});

test('the printed addresses include only those where clients can connect', async () => {
  const of = (more: object) => serversOffered({ ...OFF, ...more });
  const OFF = { host: '127.0.0.1', publicUrl: undefined, hasTls: false, port: undefined, tlsPort: undefined };
  const mail = { publicUrl: 'https://mail.example.com:8443', hasTls: true };
  expect(of({})).toEqual([]);
  expect(of({ port: 2525 })).toEqual([{ host: '127.0.0.1', port: 2525, tls: 'none' }]);
  expect(of({ host: '0.0.0.0', port: 2525 })).toEqual([{ host: '127.0.0.1', port: 2525, tls: 'none' }]);
  expect(of({ host: '192.0.2.1', port: 2525 })).toEqual([]);
  expect(of({ ...mail, host: '0.0.0.0', port: 587, tlsPort: 465 })).toEqual([
    { host: 'mail.example.com', port: 587, tls: 'starttls' },
    { host: 'mail.example.com', port: 465, tls: 'implicit' },
  ]);
  expect(of({ ...mail, host: '::1', port: 587 })).toEqual([{ host: '::1', port: 587, tls: 'starttls' }]);
  expect(of({ host: '0.0.0.0', publicUrl: mail.publicUrl, port: 25 })).toEqual([
    { host: '127.0.0.1', port: 25, tls: 'none' },
  ]);
  const running = await start({ SUBMISSION_PORT: '0' });
  expect(running?.servers).toEqual([{ host: '127.0.0.1', port: running?.port, tls: 'none' }]);
  await running?.stop();
});

test('a TLS port without a certificate is rejected with a sentence', async () => {
  await expect(start({ SUBMISSION_TLS_PORT: '0' })).rejects.toThrow(
    'SUBMISSION_TLS_PORT needs TLS_CERT_FILE and TLS_KEY_FILE: set them, or unset it',
  );
});

test('a start with files that are not a certificate and key fails with a sentence', async () => {
  const wrong = join(folder, 'wrong.pem');
  await writeFile(wrong, 'no certificate');
  for (const cert of [wrong, join(folder, 'absent.pem'), files.key]) {
    const environment = { SUBMISSION_PORT: '0', TLS_CERT_FILE: cert, TLS_KEY_FILE: files.key };
    await expect(start(environment)).rejects.toThrow(
      /^cannot use TLS_CERT_FILE and TLS_KEY_FILE: .*: set a certificate/s,
    );
  }
});

test('a start on a port in use fails with a sentence', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const refused = start({ SUBMISSION_PORT: String(port) });
  await expect(refused).rejects.toThrow(
    `port ${port} on 127.0.0.1 is in use: stop the other program, or set SUBMISSION_PORT`,
  );
  await expect(refused).rejects.toBeInstanceOf(StartRefused);
  taken.close();
});

test('a certificate renewed in place is used, and a broken one leaves the previous one in use', async () => {
  const renewed: unknown[] = [];
  const end = followRenewals({ tlsFiles: files, logger: silentLogger }, (tls) => renewed.push(tls), 20);
  await writeTlsPair(folder);
  const cert = await readFile(files.cert, 'utf8');
  const certificates = () => renewed.map((tls) => (tls as TlsPair).cert);
  await expect.poll(() => certificates()).toContain(cert);
  await writeFile(files.cert, 'broken');
  await writeTlsPair(folder);
  const another = await readFile(files.cert, 'utf8');
  await expect.poll(() => certificates()).toContain(another);
  expect(certificates()).not.toContain('broken');
  end();
});
