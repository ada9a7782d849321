import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createHttpWebhookTarget, type HttpWebhookTargetOptions } from '../../../src/adapters/webhook-target/http.ts';
import type { WebhookAnswer } from '../../../src/domain/ports/webhook-target.ts';
import { issueCertificate } from '../../support/certificates.ts';

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

const post = async (options: Partial<HttpWebhookTargetOptions>): Promise<WebhookAnswer> => {
  const lookupAll = async () => [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ];
  const target = createHttpWebhookTarget({ system: createSystem(), allowLoopback: true, lookupAll, ...options });
  const url = `https://hook.test:${(server.address() as AddressInfo).port}/`;
  return target.post({ url, headers: {}, body: '{}', timeoutMs: 5_000 }).finally(target.close);
};

describe('an endpoint that asks for a client certificate', () => {
  test('is shown that of the service, from its source address', async () => {
    const clientTls = { cert: client.certificate, key: client.key, ca };
    expect(await post({ clientTls, sourceAddresses: ['127.0.0.9'] })).toMatchObject({ status: 200, text: 'thanks' });
    expect(seen).toEqual([{ name: 'outbox.test', address: '127.0.0.9' }]);
  });

  test('refuses a post with one that it does not know', async () => {
    const clientTls = { cert: stranger.certificate, key: stranger.key, ca };
    expect(await post({ clientTls })).toMatchObject({ status: null });
    expect(seen).toHaveLength(1);
  });
});
