import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import {
  createHttpWebhookTarget,
  type HttpWebhookTarget,
  type HttpWebhookTargetOptions,
} from '../../../src/adapters/webhook-target/http.ts';
import { followRenewals } from '../../../src/composition/read-service-config.ts';
import type { WebhookAnswer } from '../../../src/domain/ports/webhooks.ts';
import { type IssuedCertificate, issueCertificate } from '../../support/certificates.ts';
import { createRecordingLogger } from '../../workers/recording-logger.ts';

const authority = issueCertificate({});
const own = issueCertificate({ names: ['hook.test'], issuer: authority });
const client = issueCertificate({ names: ['outbox.test'], issuer: authority });
const stranger = issueCertificate({ names: ['stranger.test'], issuer: issueCertificate({}) });
const ca = authority.certificate;

let server: Server;
const seen: { readonly name: string | undefined; readonly address: string | undefined }[] = [];

beforeAll(async () => {
  const options = { cert: own.certificate, key: own.key, ca, requestCert: true, rejectUnauthorized: true };
  server = createServer(options, ({ socket }, response) => {
    const { subject } = (socket as TLSSocket).getPeerCertificate();
    seen.push({ name: [subject.CN].flat()[0], address: socket.remoteAddress });
    response.end('thanks');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const lookupAll = async () => [
  { address: '::1', family: 6 },
  { address: '127.0.0.1', family: 4 },
];

const open = (options: Partial<HttpWebhookTargetOptions>): HttpWebhookTarget =>
  createHttpWebhookTarget({ system: createSystem(), allowLoopback: true, lookupAll, ...options });

const postTo = (target: HttpWebhookTarget): Promise<WebhookAnswer> => {
  const url = `https://hook.test:${(server.address() as AddressInfo).port}/`;
  return target.post({ organizationId: 'org_1', url, headers: {}, body: '{}', timeoutMs: 5_000 });
};

const post = async (options: Partial<HttpWebhookTargetOptions>): Promise<WebhookAnswer> => {
  const target = open(options);
  return postTo(target).finally(target.close);
};

describe('an endpoint that asks for a client certificate', () => {
  test('receives that of the service, from its source address', async () => {
    const clientTls = { cert: client.certificate, key: client.key, ca };
    expect(await post({ clientTls, sourceAddresses: ['127.0.0.9'] })).toMatchObject({ status: 200, text: 'thanks' });
    expect(seen).toEqual([{ name: 'outbox.test', address: '127.0.0.9' }]);
  });

  test('rejects a post with a certificate that it does not know', async () => {
    const clientTls = { cert: stranger.certificate, key: stranger.key, ca };
    expect(await post({ clientTls })).toMatchObject({ status: null });
    expect(seen).toHaveLength(1);
  });

  test('receives a renewed one without a restart; broken files leave the previous one in use, and are logged', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'outbox-client-tls-'));
    const tlsFiles = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    const write = ({ certificate, key }: IssuedCertificate): void => {
      writeFileSync(tlsFiles.cert, certificate);
      writeFileSync(tlsFiles.key, key);
    };
    write(client);
    const logger = createRecordingLogger();
    const target = open({ clientTls: { cert: client.certificate, key: client.key, ca } });
    const variables = 'WEBHOOK_CERT_FILE and WEBHOOK_KEY_FILE';
    const end = followRenewals({ tlsFiles, variables, logger }, (tls) => target.useTls({ ...tls, ca }), 20);
    /** @returns the name in the client certificate of a post. */
    const shown = async (): Promise<string | undefined> => {
      expect(await postTo(target)).toMatchObject({ status: 200 });
      return seen.at(-1)?.name;
    };
    expect(await shown()).toBe('outbox.test');
    write(issueCertificate({ names: ['renewed.test'], issuer: authority }));
    await vi.waitFor(async () => expect(await shown()).toBe('renewed.test'), { timeout: 20_000 });
    const before = logger.said('error').length;
    writeFileSync(tlsFiles.cert, 'broken');
    await vi.waitFor(() => expect(logger.said('error')).toHaveLength(before + 1), { timeout: 20_000 });
    expect(String((logger.fieldsOf('error').at(-1) as { err: Error }).err)).toContain(`cannot use ${variables}`);
    expect(await shown()).toBe('renewed.test');
    write(issueCertificate({ names: ['again.test'], issuer: authority }));
    await vi.waitFor(async () => expect(await shown()).toBe('again.test'), { timeout: 20_000 });
    expect(logger.said('error').filter((said) => said === logger.said('error')[before])).toHaveLength(1);
    end();
    await target.close();
    rmSync(folder, { recursive: true });
  });
});
