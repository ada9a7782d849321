import type { LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import { createOpenIdConnect } from '../../../src/adapters/openid-connect.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { silentLogger } from '../../support/logger.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../../support/openid-provider.ts';
import { type Service, startService } from './service.ts';
import { nextAddress, SAME_ORIGIN, signInWith } from './sign-in.ts';

/** Sign-in at an identity provider, with the requests of the page and the browser. */

type Requests = Pick<Service, 'request'>;

export const PUBLIC_URL = 'http://localhost:3000';
export const REDIRECT_URI = `${PUBLIC_URL}/dashboard/sign-in/oidc`;

/** Posts from a page of the service. */
export const post = (service: Requests, url: string, payload: object, cookie = '') =>
  service.request({
    method: 'POST',
    url,
    payload,
    remoteAddress: nextAddress(),
    headers: { ...SAME_ORIGIN, host: 'localhost:3000', ...(cookie !== '' && { cookie }) },
  });

/** Status and error code. */
export const codeOf = ({ statusCode, body }: LightMyRequestResponse) => [statusCode, JSON.parse(body).error?.code];
export const INVALID = [401, 'oidc_invalid'];

const system = createSystem();

/** @param timeoutSeconds for each request to the provider. */
export const connect = ({ issuer, client }: Pick<OpenIdProvider, 'issuer' | 'client'>, timeoutSeconds?: number) =>
  createOpenIdConnect({
    issuer,
    ...client,
    system,
    logger: silentLogger,
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
  });

export const cookiesOf = ({ headers }: LightMyRequestResponse): readonly string[] =>
  [headers['set-cookie'] ?? []].flat();

export const begin = async (service: Requests): Promise<{ readonly url: string; readonly cookie: string }> => {
  const answer = await post(service, '/v1/session/oidc', {});
  expect(answer.statusCode, answer.body).toBe(200);
  return { url: answer.json().url, cookie: cookiesOf(answer)[0]?.split(';')[0] ?? '' };
};

/** Payload that the page posts when the browser returns. */
export const answerOf = (parameters: URLSearchParams) => ({
  code: parameters.get('code') ?? '',
  state: parameters.get('state') ?? '',
  issuer: parameters.get('iss') ?? '',
});

/** The complete sign-in as a person known to the provider. */
const signInAs = async (
  service: Requests,
  provider: OpenIdProvider,
  person: OpenIdProvider['person'],
): Promise<LightMyRequestResponse> => {
  provider.person = person;
  const { url, cookie } = await begin(service);
  return post(service, '/v1/session', { oidc: answerOf(await provider.signIn(url)) }, cookie);
};

/** Two organizations that share a provider. */
export const openOidc = async () => {
  let shiftMs = 0;
  let stoppedMs: number | null = null;
  let people = 0;
  const keys: string[] = [];
  const organizations: string[] = [];
  const provider = await startOpenIdProvider(REDIRECT_URI);
  const service = await startService({
    publicUrl: PUBLIC_URL,
    identityProvider: connect(provider),
    context: { system: { ...system, now: () => new Date((stoppedMs ?? system.now().getTime()) + shiftMs) } },
  });
  for (const name of ['one.test', 'other.test']) {
    const organizationId = await service.makeOrganization();
    const domainId = await service.makeDomain(organizationId, name);
    organizations.push(organizationId);
    keys.push((await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value);
  }

  /** @param organization 0 or 1. */
  const invite = async (organization = 0, asked?: string) => {
    people += 1;
    const email = asked ?? `person${people}@example.net`;
    const key = keys[organization] ?? '';
    const payload = { email, role: 'owner' };
    const answer = await service.request({ method: 'POST', url: '/v1/members', key, payload });
    expect(answer.statusCode, answer.body).toBe(201);
    return { id: answer.json().id as string, email, url: answer.json().link.url as string };
  };

  /** A member who has accepted the invitation through its own link. */
  const join = async (organization?: number, asked?: string) => {
    const person = await invite(organization, asked);
    expect((await signInWith(service, person.url)).statusCode).toBe(200);
    return person;
  };

  return {
    provider,
    service,
    keys,
    organizations,
    invite,
    join,
    /** Completes the sign-in when the browser returns. */
    end: (oidc: object, cookie: string) => post(service, '/v1/session', { oidc }, cookie),
    enter: (person: OpenIdProvider['person']) => signInAs(service, provider, person),
    /** Runs `work` while the clock stands still, except for `shift`. */
    withStoppedClock: async (work: () => Promise<void>): Promise<void> => {
      stoppedMs = system.now().getTime();
      await work().finally(() => {
        stoppedMs = null;
      });
    },
    /** Advances the clock. */
    shift: (ms: number) => {
      shiftMs += ms;
    },
    close: async () => {
      await service.close();
      await provider.close();
    },
  };
};

export type OidcService = Awaited<ReturnType<typeof openOidc>>;
