import { expect } from 'vitest';
import type { Permission } from '../../../src/domain/api-key/events.ts';
import type { Environment } from '../../../src/domain/kernel/environment.ts';
import { type AnyBody, type ApiClient, apiClient, eventually } from '../../support/api-client.ts';
import { type OperatorOptions, operator } from '../../support/operator.ts';

const HOUR_MS = 3_600_000;
const WIDE = { send: 1_000_000, read: 1_000_000, manage: 1_000_000 };
const WIDE_OPTIONS = ['--send', '1000000', '--read', '1000000', '--manage', '1000000'];
/** Both organizations use this idempotency key for their first message: keys are scoped to an organization. */
const SHARED_IDEMPOTENCY_KEY = 'order-1';

export interface TenantKey {
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly environment: Environment;
  readonly api: ApiClient;
}

/** An organization with two domains, keys of every kind, and a resource of each kind in both environments. */
export interface Tenant {
  readonly organizationId: string;
  readonly domain: { readonly id: string; readonly name: string };
  readonly second: { readonly id: string; readonly name: string };
  /** Admin keys, created by the operator. */
  readonly live: ApiClient;
  readonly test: ApiClient;
  readonly keys: readonly TenantKey[];
  /** A key with `send` and `read`, bound to the second domain. */
  readonly neighbour: ApiClient;
  /** Ids by prefix. All resources existed before the other organization's attempts. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  /** A message sent from the second domain by `neighbour`. */
  readonly neighboursMessage: string;
}

export interface Place {
  readonly options: OperatorOptions;
  readonly baseUrl: string;
  /** URL to which webhooks post. */
  readonly listener: string;
}

export const messageFrom = (domainName: string) => ({
  from: `Shop <shop@${domainName}>`,
  to: 'customer@example.net',
  subject: 'Your order',
  text: 'Thank you.',
});

const create = async (api: ApiClient, path: string, body: object, headers = {}): Promise<string> => {
  const answer = await api.post(path, body, headers);
  expect([path, answer.status]).toEqual([path, path.endsWith('/send') ? 202 : 201]);
  return answer.body.id;
};

/** Sends a message that is delivered, a scheduled one, and a batch of one. */
const sendSome = async (api: ApiClient, domainName: string): Promise<readonly string[]> => {
  const message = messageFrom(domainName);
  const sent = await create(api, '/v1/messages/send', message, { 'idempotency-key': SHARED_IDEMPOTENCY_KEY });
  const later = new Date(Date.now() + HOUR_MS).toISOString();
  const waiting = await create(api, '/v1/messages/send', { ...message, scheduled_at: later });
  const batch = await api.post('/v1/messages/batch', { messages: [message] });
  const batched: string = batch.body.data[0].id;
  for (const id of [sent, batched]) {
    await eventually(
      () => api.get(`/v1/messages/${id}`),
      ({ body }) => body.status === 'delivered',
      30_000,
    );
  }
  return [sent, waiting, batched];
};

const makeByOperator = async ({ options }: Place, name: string) => {
  const command = (...words: readonly string[]) => operator(options, ...words);
  const { organization_id: organizationId } = await command('organizations', 'create', '--name', name);
  const domainOf = async (domainName: string) => {
    const made = await command('domains', 'create', '--organization', organizationId, '--name', domainName);
    return { id: made.domain_id, name: made.name };
  };
  const [domain, second] = [await domainOf(`${name}.test`), await domainOf(`second-${name}.test`)];
  const place = ['--organization', organizationId, '--domain', domain.id, '--permissions', 'admin', ...WIDE_OPTIONS];
  const { key: live } = await command('keys', 'create', ...place);
  const { key: test } = await command('keys', 'create', ...place, '--environment', 'test');
  return { organizationId, domain, second, live, test };
};

export const openTenant = async (place: Place, name: string): Promise<Tenant> => {
  const { organizationId, domain, second, ...values } = await makeByOperator(place, name);
  const client = (value: string): ApiClient => apiClient(place.baseUrl, value);
  const [live, test] = [client(values.live), client(values.test)];

  const keyIds: string[] = [];
  const makeKey = async (permissions: readonly Permission[], domainId: string): Promise<ApiClient> => {
    const asked = { name: permissions.join(' and '), domain_id: domainId, permissions, rate_limits: WIDE };
    const { status, body } = await live.post('/v1/api-keys', asked);
    expect(status).toBe(201);
    keyIds.push(body.id);
    return client(body.key);
  };
  const keys: TenantKey[] = [
    { name: 'admin', permissions: ['admin'], environment: 'live', api: live },
    { name: 'test', permissions: ['admin'], environment: 'test', api: test },
  ];
  for (const permission of ['send', 'read', 'manage'] as const)
    keys.push({
      name: permission,
      permissions: [permission],
      environment: 'live',
      api: await makeKey([permission], domain.id),
    });
  const neighbour = await makeKey(['send', 'read'], second.id);

  const hook = { url: `${place.listener}?${name}`, events: ['message.*'] };
  const webhooks = [await create(live, '/v1/webhooks', hook), await create(test, '/v1/webhooks', hook)];
  const messages = [...(await sendSome(live, domain.name)), ...(await sendSome(test, domain.name))];
  const nobody = { address: 'nobody@example.net', note: `of ${name}` };
  const suppressions = [await create(live, '/v1/suppressions', nobody), await create(test, '/v1/suppressions', nobody)];
  suppressions.push(await create(live, '/v1/suppressions', { address: 'nobody.else@example.net' }));
  const topics = [await create(live, '/v1/topics', { name: `Offers of ${name}`, default: 'in' })];
  const route = { domain_id: domain.id, match: name, action: 'store' };
  const routes = [await create(live, '/v1/inbound-routes', route)];
  const auditor = { name: `Of ${name}`, expires_at: '2099-01-01T00:00:00Z' };
  const auditors = [await create(live, '/v1/audit/auditors', auditor)];
  const content = { name: `Of ${name}`, subject: `Of ${name}`, html: '<p>Hello</p>' };
  const templates = [
    await create(live, '/v1/templates', { alias: 'hello', ...content }),
    await create(live, '/v1/templates', { alias: 'goodbye', ...content }),
  ];
  for (const id of templates) await live.post(`/v1/templates/${id}/publish`);
  const neighboursMessage = await create(neighbour, '/v1/messages/send', messageFrom(second.name));
  const testKey = { name: 'test', domain_id: domain.id, permissions: ['send'] };
  keyIds.push(await create(test, '/v1/api-keys', testKey));
  return {
    organizationId,
    domain,
    second,
    live,
    test,
    keys,
    neighbour,
    neighboursMessage,
    ids: {
      org: [organizationId],
      msg: messages,
      key: keyIds,
      dom: [domain.id, second.id],
      whk: webhooks,
      sup: suppressions,
      top: topics,
      irt: routes,
      inb: [], // received by SMTP: `http/routes/inbound.test.ts`
      aud: auditors,
      tpl: templates,
      mbr: [], // those of others are answered with 404: `routes/members`
      ses: [],
      ers: [], // it changes while it runs
      inv: [], // there is one only after the end of a month
    },
  };
};

/** Searches for a tenant's resources. For other organizations they must find nothing. */
export const searchesFor = async ({ live, domain, second }: Tenant) => {
  const { body } = await live.get('/v1/events?limit=3');
  const ids = body.data.flatMap(({ id, data }: AnyBody) => [id, data.message_id]);
  const known = [...ids, domain.id, second.id, domain.name, `shop@${domain.name}`].filter(Boolean);
  const check = ({ data }: AnyBody): void => expect(data).toEqual([]);
  return known.map((q) => ({ query: `?q=${encodeURIComponent(q)}`, check }));
};
