import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { LogContradiction } from '../../../src/commands/audit.ts';
import { AUDITORS_MAX } from '../../../src/commands/auditor.ts';
import { claimAttempt } from '../../../src/commands/message/attempt.ts';
import { suspendOrganization } from '../../../src/commands/organization.ts';
import { BUILT_IN_PLANS } from '../../../src/domain/billing/plan.ts';
import { ERROR_CATALOGUE, type ErrorCode } from '../../../src/domain/kernel/errors.ts';
import { type Append, WrongExpectedRevision } from '../../../src/domain/kernel/event-store.ts';
import { formatId } from '../../../src/domain/kernel/ids.ts';
import { MEMBERS_MAX, PASSKEYS_MAX } from '../../../src/domain/member/member.ts';
import { openUrl } from '../../../src/domain/tracking/tracking.ts';
import { WEBHOOKS_MAX_DEFAULT } from '../../../src/domain/webhook/webhook.ts';
import { ERROR_STATUSES } from '../../../src/http/errors.ts';
import { INBOUND_ROUTES_MAX } from '../../../src/http/resources/inbound-routes.ts';
import { TOPICS_MAX } from '../../../src/http/resources/topics.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createAuthenticator } from '../support/authenticator.ts';
import { bounce } from '../support/bounced.ts';
import { openOidc } from '../support/oidc-sign-in.ts';
import { openPeople } from '../support/passkey-people.ts';
import { createMemoryStore, operator, type Service, startService } from '../support/service.ts';
import { SAME_ORIGIN, signInWith } from '../support/sign-in.ts';

let service: Service;
let oidc: Awaited<ReturnType<typeof openOidc>>;
/** Creates the fault with which the log rejects an append, if set. */
let fault: ((append: Append) => Error) | null = null;
const keys: Record<string, string> = {};
const ids: Record<string, string> = {};

type CatalogueRequest = InjectOptions & { readonly by?: string };

const ask = ({ by = 'admin', ...options }: CatalogueRequest) => service.request({ ...options, key: keys[by] ?? '' });
const post = (url: string, payload: object | string = {}, more: CatalogueRequest = {}) =>
  ask({ method: 'POST', url, payload, ...more });

beforeAll(async () => {
  const contents = createInMemoryContents();
  const store = createMemoryStore(contents);
  const append = (asked: Append) => (fault === null ? store.append(asked) : Promise.reject(fault(asked)));
  const publicUrl = 'http://localhost:3000';
  service = await startService({ publicUrl, context: { contents, store: { ...store, append }, capturing: false } });
  oidc = await openOidc();
  const own = await service.makeOrganization();
  const foreign = await service.makeOrganization();
  ids.domain = await service.makeDomain(own, 'example.test');
  const make = async (name: string, organization: string, domain: string, more: Parameters<Service['makeKey']>[2]) => {
    const made = await service.makeKey(organization, domain, more);
    keys[name] = made.value;
    ids[name] = made.id;
  };
  await make('admin', own, ids.domain, {});
  await make('test', own, ids.domain, { environment: 'test' });
  await make('reader', own, ids.domain, { permissions: ['read'] });
  await make('elsewhere', own, ids.domain, { allowedCidrs: ['192.0.2.1'] });
  await make('slow', own, ids.domain, { rateLimits: { read: 1, send: 1 } });
  await make('spare', own, ids.domain, { permissions: ['send'] });
  await make('revoked', own, ids.domain, { permissions: ['send'] });
  await make('foreign', foreign, await service.makeDomain(foreign, 'foreign.test'), {});
  await post(`/v1/api-keys/${ids.revoked}/revoke`);
  await post('/v1/templates', TEMPLATE);
});
afterAll(() => Promise.all([service.close(), oidc.close()]));

const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };
const MEMBER = { email: 'ann@example.net', role: 'analyst' };
const NAME = [{ name: 'name', type: 'string' }];
const TEMPLATE = { alias: 'draft', name: 'Draft', subject: 'Hello', html: '<p>{{ name }}</p>', variables: NAME };
const SIGNED = ['credential_id', 'client_data', 'authenticator_data', 'signature', 'user_handle'];
const ASSERTION = Object.fromEntries(SIGNED.map((field) => [field, 'AA']));
const LIMITED = { default: { ...BUILT_IN_PLANS.default, hardLimit: 10 }, offered: [] };
const SEND = '/v1/messages/send';
const JSON_TYPE = { 'content-type': 'application/json' };

const whileLogFailsWith = async (made: (append: Append) => Error) => {
  fault = made;
  try {
    return await post('/v1/domains', { name: 'other.test' });
  } finally {
    fault = null;
  }
};

/** Only the response to the last request is tested. */
const after = async <T>(first: Promise<unknown>, last: () => Promise<T>): Promise<T> => {
  await first;
  return last();
};

/** @returns the URL of a message with a test key that is sent immediately. */
const sentByTestKey = async (): Promise<string> =>
  `/v1/messages/${(await post(SEND, MESSAGE, { by: 'test' })).json().id}`;

const afterRetention = <T>(act: () => Promise<T>): Promise<T> => {
  const expired = { kind: 'expired', at: '2026-01-01T00:00:00.000Z' } as const;
  vi.spyOn(service.deps.context.contents, 'get').mockImplementationOnce(
    async (all) => new Map(all.map((id) => [id, expired])),
  );
  return act();
};

const reschedule = (url: string) => {
  const payload = { scheduled_at: new Date(Date.now() + 3_600_000).toISOString() };
  return ask({ method: 'PATCH', url, payload, by: 'test' });
};

/** An organization that its operator has suspended. */
const suspended = async (): Promise<string> => {
  const organization = await service.makeOrganization();
  await suspendOrganization(service.deps.context, operator(organization), 'It sent spam.');
  await service.server.shared.auth.keyCache.catchUp();
  return organization;
};

const PROVOKED = {
  invalid_request: () => post(SEND),
  invalid_json: () => post(SEND, '{', { headers: JSON_TYPE }),
  invalid_cursor: () => ask({ url: '/v1/inbox?after=x' }),
  invalid_html: () => post(SEND, { ...MESSAGE, html: '<div>' }),
  header_not_allowed: () => ask({ url: '/v1/organization', headers: { 'idempotency-key': 'x' } }),
  unauthorized: () => ask({ url: '/v1/organization', by: 'anonymous' }),
  permission_missing: () => ask({ url: '/v1/organization', by: 'reader' }),
  wider_than_own_key: () =>
    ask({
      method: 'POST',
      url: '/v1/api-keys',
      payload: { name: 'x', domain_id: ids.domain, permissions: ['send'], allowed_cidrs: [] },
      by: 'elsewhere',
      remoteAddress: '192.0.2.1',
    }),
  environment_not_allowed: () => post('/v1/domains', { name: 'new.test' }, { by: 'test' }),
  address_not_allowed: () => ask({ url: '/v1/organization', by: 'elsewhere' }),
  from_domain_mismatch: () => post(SEND, { ...MESSAGE, from: 'a@other.test' }),
  other_organization: () => ask({ url: `/v1/domains/${ids.domain}`, by: 'foreign' }),
  not_found: () => ask({ url: '/v1/domains/nothing' }),
  method_not_allowed: () => ask({ method: 'DELETE', url: '/v1/domains' }),
  domain_is_public_suffix: () => post('/v1/domains', { name: 'co.uk' }),
  domain_already_exists: () => post('/v1/domains', { name: 'example.test' }),
  key_not_active: () => post(`/v1/api-keys/${ids.revoked}/rotate`),
  too_many_live_secrets: () => {
    const rotate = () => post(`/v1/api-keys/${ids.spare}/rotate`);
    return after(after(rotate(), rotate), rotate);
  },
  webhook_disabled: async () => {
    const made = (await post('/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.*'] })).json();
    await ask({ method: 'PATCH', url: `/v1/webhooks/${made.id}`, payload: { enabled: false } });
    return post(`/v1/webhooks/${made.id}/ping`);
  },
  last_admin_key: () => post(`/v1/api-keys/${ids.foreign}/revoke`, {}, { by: 'foreign' }),
  message_being_sent: async () => {
    const url = await sentByTestKey();
    const messageId = url.split('/').at(-1) ?? '';
    await claimAttempt(service.deps.context, { messageId, leaseMs: 60_000, random: 0 });
    return post(`${url}/cancel`, {}, { by: 'test' });
  },
  message_ended: async () => {
    const url = await sentByTestKey();
    return after(post(`${url}/cancel`, {}, { by: 'test' }), () => reschedule(url));
  },
  nothing_to_resend: async () => post(`${await sentByTestKey()}/resend`, {}, { by: 'test' }),
  recipient_suppressed: async () => {
    const { id } = (await post(SEND, { ...MESSAGE, to: 'kept@example.org' }, { by: 'test' })).json();
    await bounce(service, id);
    await post('/v1/suppressions', { address: 'kept@example.org' }, { by: 'test' });
    return post(`/v1/messages/${id}/resend`, {}, { by: 'test' });
  },
  content_removed: async () => {
    const sent = await post(SEND, { ...MESSAGE, to: 'gone@example.org' }, { by: 'test' });
    const { id } = sent.json();
    await bounce(service, id);
    return afterRetention(() => post(`/v1/messages/${id}/resend`, {}, { by: 'test' }));
  },
  message_not_scheduled: async () => reschedule(await sentByTestKey()),
  template_invalid: () =>
    after(post('/v1/templates', { ...TEMPLATE, alias: 'broken', html: '{{ who }}' }), () =>
      post('/v1/templates/broken/publish'),
    ),
  template_not_published: () =>
    post(SEND, { from: MESSAGE.from, to: MESSAGE.to, template: { id: 'draft' } }, { by: 'test' }),
  template_variables_invalid: () => post('/v1/templates/draft/render', { variables: {} }),
  resource_conflict: () => whileLogFailsWith(({ stream, expected }) => new WrongExpectedRevision(stream, expected, 7)),
  precondition_failed: () => post(`/v1/api-keys/${ids.admin}/rotate`, {}, { headers: { 'if-match': '"7"' } }),
  body_too_large: () => post('/v1/domains', { name: 'x'.repeat(70_000) }),
  unsupported_media_type: () => post('/v1/domains', 'name=x', { headers: { 'content-type': 'text/plain' } }),
  domain_not_verified: () => post(SEND, MESSAGE),
  topic_not_usable: () => post(SEND, { ...MESSAGE, topic: 'top_aaaaaaaaaaaaaaaaaaaaaaaaaa' }, { by: 'test' }),
  too_many_topics: () => {
    const { readModels } = service.deps;
    const page = { items: Array.from({ length: TOPICS_MAX }, () => ({})), hasMore: false, next: null };
    vi.spyOn(readModels.topics, 'list').mockResolvedValueOnce(page as never); // only its length matters
    return post('/v1/topics', { name: 'One more', default: 'in' });
  },
  too_many_inbound_routes: () => {
    const { readModels } = service.deps;
    const page = { items: Array.from({ length: INBOUND_ROUTES_MAX }, () => ({})), hasMore: false, next: null };
    vi.spyOn(readModels.inboundRoutes, 'list').mockResolvedValueOnce(page as never); // only its length matters
    return post('/v1/inbound-routes', { domain_id: ids.domain, match: '*', action: 'store' });
  },
  too_many_webhooks: () => {
    vi.spyOn(service.deps.readModels, 'waitFor').mockResolvedValueOnce(true);
    vi.spyOn(service.deps.readModels.webhooks, 'count').mockResolvedValueOnce(WEBHOOKS_MAX_DEFAULT);
    return post('/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.*'] });
  },
  cross_site_request: () => post('/v1/session', { token: 'x' }, { headers: { 'sec-fetch-site': 'cross-site' } }),
  sign_in_link_invalid: () => signInWith(service, 'http://localhost/#nothing'),
  passkey_invalid: () => post('/v1/session', { passkey: ASSERTION }, { headers: SAME_ORIGIN }),
  oidc_invalid: () => oidc.end({ code: 'x', state: 'x' }, ''),
  oidc_address_unverified: () => oidc.enter({ email: 'ann@example.net' }),
  oidc_no_member: () => oidc.enter({ email: 'ann@example.net', email_verified: true }),
  presence_required: async () => (await openPeople(service)).askWhenLate(),
  too_many_passkeys: async () => {
    const { withPasskey, add } = await openPeople(service);
    const person = await withPasskey();
    const another = () => add({ ...person, authenticator: createAuthenticator(person.memberId) });
    for (let count = 1; count < PASSKEYS_MAX; count += 1) await another();
    return another();
  },
  member_already_exists: async () => {
    await post('/v1/members', MEMBER);
    return post('/v1/members', { ...MEMBER, email: 'ANN@example.net' });
  },
  last_owner: async () => {
    const { id, link } = (await post('/v1/members', { ...MEMBER, email: 'owner@example.net', role: 'owner' })).json();
    await signInWith(service, link.url);
    return ask({ method: 'DELETE', url: `/v1/members/${id}` });
  },
  too_many_members: async () => {
    const invite = (count: number) => post('/v1/members', { ...MEMBER, email: `ann${count}@example.net` });
    for (let count = 0; count < MEMBERS_MAX; count += 1) await invite(count);
    return invite(MEMBERS_MAX);
  },
  too_many_auditors: async () => {
    const add = () => post('/v1/audit/auditors', { name: 'One more', expires_at: '2099-01-01T00:00:00Z' });
    for (let count = 0; count < AUDITORS_MAX; count += 1) await add();
    return add();
  },
  schedule_not_possible: () => post(SEND, { ...MESSAGE, scheduled_at: '2020-01-01T00:00:00Z' }, { by: 'test' }),
  quota_exceeded: async () => {
    const used = { used: () => 10, reserve: () => undefined, settle: () => undefined };
    const limited = await startService({ context: { quotas: { open: async () => used }, plans: LIMITED } });
    onTestFinished(limited.close);
    const own = await limited.makeOrganization();
    const { value: key } = await limited.makeKey(own, await limited.makeDomain(own, 'example.test'));
    return limited.request({ method: 'POST', url: SEND, key, payload: MESSAGE });
  },
  plan_not_offered: () => ask({ method: 'PUT', url: '/v1/billing/plan', payload: { plan: 'gold' } }),
  batch_exceeds_limit: () => post('/v1/messages/batch', { messages: [MESSAGE, MESSAGE] }, { by: 'slow' }),
  analysis_failed: () => post(SEND, { ...MESSAGE, subject: '{{subject}}', analysis: 'block' }, { by: 'test' }),
  idempotency_key_reused: () => {
    const once = (subject: string) =>
      post(SEND, { ...MESSAGE, subject }, { by: 'test', headers: { 'idempotency-key': 'x' } });
    return after(once('One'), () => once('Other'));
  },
  rate_limit_exceeded: () => {
    const read = () => ask({ url: '/v1/organization', by: 'slow' });
    return after(read(), read);
  },
  unavailable: () => whileLogFailsWith(() => new StoreUnavailable('away')),
  not_signed_yet: () => {
    const { readModels } = service.deps;
    vi.spyOn(readModels, 'waitFor').mockResolvedValueOnce(true);
    vi.spyOn(readModels.audit, 'checkpoints').mockResolvedValueOnce([]);
    return ask({ url: '/v1/audit/consistency?from=1' });
  },
  signing_stopped: () => {
    const { readModels } = service.deps;
    vi.spyOn(readModels, 'waitFor').mockResolvedValueOnce(true);
    vi.spyOn(readModels.audit, 'state').mockRejectedValueOnce(new LogContradiction('the log was changed'));
    return post('/v1/audit/checkpoints', {});
  },
  organization_suspended: async () => {
    const organization = await suspended();
    const key = await service.makeKey(organization, await service.makeDomain(organization, 'suspended.test'));
    const payload = { ...MESSAGE, from: 'a@suspended.test' };
    return service.request({ method: 'POST', url: SEND, key: key.value, payload });
  },
  link_suspended: async () => {
    const copy = { messageId: formatId('msg', Buffer.alloc(16)), recipientId: formatId('rcp', Buffer.alloc(16)) };
    const url = openUrl(service.deps.trackingKeys, '', { ...copy, organizationId: await suspended() });
    return service.request({ url });
  },
  content_gone: async () => {
    const url = await sentByTestKey();
    return afterRetention(() => ask({ url: `${url}/content`, by: 'test' }));
  },
  internal_error: () => whileLogFailsWith(() => new TypeError('a mistake of ours')),
} satisfies Record<ErrorCode, () => ReturnType<typeof ask>>;

describe('the catalogue of errors', () => {
  test('contains the codes that are provoked here and no others', () => {
    expect(Object.keys(PROVOKED).sort()).toEqual(Object.keys(ERROR_CATALOGUE).sort());
  });

  test.each(Object.entries(PROVOKED))('has %s, with which a request is answered', async (code, provoke) => {
    const answer = await provoke();
    if (code === 'link_suspended')
      expect(answer.headers['content-type']).toMatch(/^text\/html/); // tracked links only have pages
    else expect(answer.json()).toMatchObject({ error: { code, message: expect.stringMatching(/./) } });
    expect(answer.statusCode).toBe(ERROR_STATUSES[code as ErrorCode]);
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
  });
});
