import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readWholeStream } from '../../../../src/commands/execute.ts';
import { sessionStream } from '../../../../src/domain/kernel/streams.ts';
import type { OpenIdProvider } from '../../../support/openid-provider.ts';
import {
  codeOf,
  connect,
  cookiesOf,
  type OidcService,
  openOidc,
  post,
  REDIRECT_URI,
} from '../../support/oidc-sign-in.ts';
import { startService } from '../../support/service.ts';
import { SAME_ORIGIN } from '../../support/sign-in.ts';

let opened: OidcService;
beforeAll(async () => {
  opened = await openOidc();
});
afterAll(() => opened.close());

const enter = (person: OpenIdProvider['person']) => opened.enter(person);
const join = (organization?: number, email?: string) => opened.join(organization, email);

describe('signing in at an identity provider', () => {
  test('starts a session of the member with the verified address', async () => {
    const { id, email } = await join();
    const answer = await enter({ email: email.toUpperCase(), email_verified: true });
    expect([answer.statusCode, answer.json().member.id]).toEqual([200, id]);
    const [ended, session] = cookiesOf(answer);
    expect(ended).toBe('outbox_oidc=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0');
    expect(session).toMatch(/^outbox_session=ob_session_\w{49}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=604800$/);
    const log = JSON.stringify(
      await readWholeStream(opened.service.deps.context.store, sessionStream(answer.json().id as string)),
    );
    expect(log).toContain(`"proof":{"kind":"oidc","issuer":"${opened.provider.issuer}","transactionHash"`);
    expect(log).not.toContain('@');
  });

  test('asks for a code with PKCE, nonce and state, and binds them to the browser', async () => {
    const answer = await post(opened.service, '/v1/session/oidc', {});
    const { searchParams: asked, origin } = new URL(answer.json().url);
    expect(origin).toBe(opened.provider.issuer);
    expect(Object.fromEntries(asked)).toEqual({
      client_id: 'outbox',
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'openid email',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(cookiesOf(answer)).toEqual([
      expect.stringMatching(/^outbox_oidc=[\w-]{94}; HttpOnly; SameSite=Lax; Path=\/; Max-Age=600$/),
    ]);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('returns to the port that the system chose for the service', async () => {
    const service = await startService({ publicUrl: 'http://localhost:0', identityProvider: connect(opened.provider) });
    onTestFinished(() => service.close());
    await service.server.listen({ host: '127.0.0.1', port: 0 });
    const { port } = service.server.server.address() as AddressInfo;
    const headers = { ...SAME_ORIGIN, 'content-type': 'application/json' };
    const url = `http://localhost:${port}/v1/session/oidc`;
    const answer = await fetch(url, { method: 'POST', headers, body: '{}' });
    const { url: asked } = JSON.parse(await answer.text());
    expect(new URL(asked).searchParams.get('redirect_uri')).toBe(`http://localhost:${port}/dashboard/sign-in/oidc`);
  });

  test('over HTTPS keeps a cookie that no other host can set', async () => {
    const publicUrl = 'https://mail.example.net';
    const secure = await startService({ publicUrl, identityProvider: connect(opened.provider) });
    const answer = await post(secure, '/v1/session/oidc', {});
    expect(cookiesOf(answer)[0]).toMatch(/^__Host-outbox_oidc=[\w-]{94}; HttpOnly; Secure; SameSite=Lax; Path=\/;/);
    expect(answer.json().url).toContain(encodeURIComponent(`${publicUrl}/dashboard/sign-in/oidc`));
    await secure.close();
  });

  test.each([
    ['is not verified', { email_verified: false }, 'oidc_address_unverified'],
    ['is called verified in a text', { email_verified: 'true' as never }, 'oidc_address_unverified'],
    ['is not said to be verified', {}, 'oidc_address_unverified'],
    ['is missing', { email: undefined as never, email_verified: true }, 'oidc_address_unverified'],
    ['was not invited', { email: 'stranger@example.net', email_verified: true }, 'oidc_no_member'],
    ['looks like that of a member', { email: '\u212Aim@example.net', email_verified: true }, 'oidc_no_member'],
    ['is broken', { email: 'kim@example.net\r\n', email_verified: true }, 'oidc_no_member'],
  ])('creates no member if the address %s', async (_what, person, code) => {
    const key = opened.keys[0] ?? '';
    const count = async () => (await opened.service.request({ url: '/v1/members', key })).json().data.length;
    const known = (await opened.service.request({ url: '/v1/members', key })).json().data;
    if (!known.some((one: { email: string }) => one.email === 'kim@example.net')) await join(0, 'kim@example.net');
    const before = await count();
    const answer = await enter({ email: 'kim@example.net', ...person });
    expect(codeOf(answer)).toEqual([403, code]);
    expect(cookiesOf(answer).join()).not.toContain('ob_session_');
    expect(await count()).toBe(before);
  });

  test('leads a member of another organization only to that one', async () => {
    const { email, id } = await join(1);
    const answer = await enter({ email, email_verified: true });
    expect([answer.json().member.id, answer.json().organization.id]).toEqual([id, opened.organizations[1]]);
  });

  test('ends with the removal of the member', async () => {
    const { email, id } = await join();
    await opened.service.request({ method: 'DELETE', url: `/v1/members/${id}`, key: opened.keys[0] ?? '' });
    expect(codeOf(await enter({ email, email_verified: true }))).toEqual([403, 'oidc_no_member']);
  });
});
