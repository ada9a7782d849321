import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { freePort } from '../../../support/free-port.ts';
import { codeOf, connect, INVALID, PUBLIC_URL, post } from '../../support/oidc-sign-in.ts';
import { startService } from '../../support/service.ts';

const CLIENT = { clientId: 'outbox', clientSecret: 'a secret' };

describe('an identity provider', () => {
  const at = async (issuer: string, timeoutSeconds?: number) => {
    const identityProvider = connect({ issuer, client: CLIENT }, timeoutSeconds);
    const other = await startService({ publicUrl: PUBLIC_URL, identityProvider });
    return {
      methods: () => other.request({ url: '/v1/session/methods' }),
      ask: () => post(other, '/v1/session/oidc', {}),
      close: other.close,
    };
  };

  const serving = async (listener: RequestListener) => {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: () => {
        server.close();
        server.closeAllConnections();
      },
    };
  };

  test('that is down is reported as such, and is found once it is up', async () => {
    let issuer = `http://127.0.0.1:${await freePort()}`;
    const { ask, close } = await at(issuer);
    const answer = await ask();
    expect([codeOf(answer), answer.json().error.message]).toEqual([
      [503, 'unavailable'],
      'the identity provider does not answer: try again, or sign in with a link or a passkey',
    ]);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    const server = createServer((_request, response) => {
      const metadata = {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(metadata));
    });
    await new Promise<void>((resolve) => server.listen(Number(new URL(issuer).port), '127.0.0.1', resolve));
    expect((await ask()).statusCode).toBe(200);
    issuer = 'http://127.0.0.1:1';
    server.close();
    server.closeAllConnections();
    expect((await ask()).statusCode).toBe(200); // cached data is not fetched again
    await close();
  });

  test.each<[string, RequestListener]>([
    ['answers 10 MB', (_request, response) => void response.end(' '.repeat(10_000_000))],
    [
      'answers without end',
      (_request, response) => void setInterval(() => response.write(' '.repeat(100_000)), 1).unref(),
    ],
    ['answers never', () => undefined],
    ['hangs up', (request) => void request.socket.destroy()],
    ['answers 500', (_request, response) => void response.writeHead(500).end('<script>alert(1)</script>')],
    [
      'leads elsewhere',
      (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    ],
    [
      'is another',
      (_request, response) =>
        void response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ issuer: 'https://evil.example', authorization_endpoint: 'https://evil.example/auth' })),
    ],
  ])('that %s is refused', async (_what, listener) => {
    const bad = await serving(listener);
    const { ask, close } = await at(bad.issuer, 1);
    const answer = await ask();
    expect(codeOf(answer)).toEqual([503, 'unavailable']);
    expect(answer.body).not.toMatch(/script|evil/);
    bad.close();
    await close();
  });

  test('is shown by its host, and only if one is configured', async () => {
    const shown = await at('https://accounts.example.com:8443/tenant');
    expect((await shown.methods()).json().oidc).toEqual({ host: 'accounts.example.com:8443' });
    await shown.close();
    const without = await startService({ publicUrl: PUBLIC_URL });
    expect((await without.request({ url: '/v1/session/methods' })).json().oidc).toBe(null);
    expect(codeOf(await post(without, '/v1/session/oidc', {}))).toEqual([404, 'not_found']);
    expect(codeOf(await post(without, '/v1/session', { oidc: { code: 'x', state: 'x' } }))).toEqual(INVALID);
    await without.close();
  });
});
