import { expect, vi } from 'vitest';
import { createAuthenticator } from './authenticator.ts';
import type { Service } from './service.ts';
import { cookieOf, nextAddress, SAME_ORIGIN, signInWith } from './sign-in.ts';

/** Members of two organizations, each with a browser and an authenticator. */

interface Answer {
  readonly statusCode: number;
  readonly body: string;
}

/** Status and error code. */
export const codeOf = ({ statusCode, body }: Answer) => [
  statusCode,
  body === '' ? undefined : JSON.parse(body).error?.code,
];

let people = 0;

export const openPeople = async (service: Service) => {
  const keys: string[] = [];
  const domainIds: string[] = [];
  for (const name of ['one.test', 'other.test']) {
    const organizationId = await service.makeOrganization();
    const domainId = await service.makeDomain(organizationId, name);
    domainIds.push(domainId);
    keys.push((await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value);
  }

  /** A member who has signed in. @param organization 0 or 1. */
  const join = async (role = 'owner', organization = 0) => {
    people += 1;
    const payload = { email: `person${people}@example.net`, role };
    const key = keys[organization] ?? '';
    const invited = await service.request({ method: 'POST', url: '/v1/members', key, payload });
    const cookie = cookieOf(await signInWith(service, invited.json().link.url));
    return { memberId: invited.json().id as string, cookie, authenticator: createAuthenticator(invited.json().id) };
  };
  type Person = Awaited<ReturnType<typeof join>>;

  const post = (url: string, payload: object, cookies: readonly string[] = []) =>
    service.request({
      method: 'POST',
      url,
      payload,
      remoteAddress: nextAddress(),
      headers: { ...SAME_ORIGIN, ...(cookies.length > 0 && { cookie: cookies.join('; ') }) },
    });

  /** Options for a new browser. */
  const challenge = async () => {
    const answer = await post('/v1/session/challenges', {});
    expect(answer.statusCode, answer.body).toBe(200);
    return { challenge: answer.json().challenge as string, browser: cookieOf(answer) };
  };

  const add = async ({ cookie, authenticator }: Person, more: object = {}) => {
    const { challenge: asked, browser } = await challenge();
    return post('/v1/passkeys', authenticator.register({ challenge: asked, ...more }), [cookie, browser]);
  };

  const enter = async ({ authenticator }: Person, more: object = {}) => {
    const { challenge: asked, browser } = await challenge();
    return post('/v1/session', { passkey: authenticator.answer({ challenge: asked, ...more }) }, [browser]);
  };

  const list = ({ cookie }: Person) => service.request({ url: '/v1/passkeys', headers: { cookie } });

  const remove = ({ cookie }: Person, id: string) =>
    service.request({ method: 'DELETE', url: `/v1/passkeys/${id}`, headers: { cookie, ...SAME_ORIGIN } });

  /** Makes a request that requires presence a quarter of an hour after signing in. */
  const askWhenLate = async () => {
    const person = await join();
    const later = new Date(service.deps.context.system.now().getTime() + 15 * 60_000);
    const clock = vi.spyOn(service.deps.context.system, 'now').mockReturnValue(later);
    return remove(person, 'psk_aaaaaaaaaaaaaaaaaaaaaaaaaa').finally(() => clock.mockRestore());
  };

  const withPasskey = async (role?: string, organization?: number): Promise<Person & { readonly id: string }> => {
    const person = await join(role, organization);
    const added = await add(person);
    expect(added.statusCode, added.body).toBe(201);
    return { ...person, id: added.json().id };
  };

  return {
    key: keys[0] ?? '',
    domainId: domainIds[0] ?? '',
    join,
    post,
    challenge,
    add,
    enter,
    list,
    remove,
    withPasskey,
    askWhenLate,
  };
};

export type People = Awaited<ReturnType<typeof openPeople>>;
