import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import { closePeriod } from '../../../src/commands/billing.ts';
import { permissionSchema } from '../../../src/domain/api-key/events.ts';
import { invoiceIdOf } from '../../../src/domain/billing/invoice.ts';
import type { CustomerEvent } from '../../../src/domain/customer-events.ts';
import { type Environment, environmentSchema } from '../../../src/domain/environment.ts';
import { deliveryId, type WebhookDeliveries } from '../../../src/domain/ports/webhook-deliveries.ts';
import type { GuardedRouteName } from '../../../src/http/route-table.ts';
import type { Service } from './service.ts';
import { type Expected, type Holder, KINDS, type Kind, type WalkedRoute } from './walk-routes.ts';

/** Each permission alone, in each environment. */
export const HOLDERS: readonly Holder[] = environmentSchema.options.flatMap((environment) =>
  permissionSchema.options.map((permission) => ({ permission, environment })),
);

const HOUR_MS = 3_600_000;
const LISTENER = 'http://127.0.0.1:9/';

/** An organization with a domain, a key of each holder, and ways to make what paths name. */
export interface WalkTenant {
  readonly organizationId: string;
  readonly domainId: string;
  readonly domainName: string;
  keyOf(holder: Holder): string;
  /** Something new that every change of the table can be made to. @returns its id. */
  make(kind: Kind, environment: Environment): Promise<string>;
}

let names = 0;

/** A name belongs to whoever proves it first. */
const newName = (): string => {
  names += 1;
  return `walk${names}.test`;
};

let invoices = 0;
let people = 0;

const newPerson = (): string => {
  people += 1;
  return `walk${people}@example.org`;
};

let addresses = 0;

/** Failures are counted by address: each request of the walk comes from another. */
const nextAddress = (): string => {
  addresses += 1;
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`;
};

const inAnHour = (): string => new Date(Date.now() + HOUR_MS).toISOString();

const messageFrom = (domainName: string) => ({
  from: `a@${domainName}`,
  to: 'b@example.org',
  subject: 'Walk',
  text: 'Walk',
});

const newTemplate = () => ({ alias: newName().replace('.', '-'), name: 'Walk', subject: 'Walk', html: '<p>Walk</p>' });

const newAuditor = () => ({ name: 'Walk', expires_at: inAnHour() });

type WithBody = Exclude<GuardedRouteName, `GET ${string}` | `DELETE ${string}`>;

/** What every route with a body succeeds with; one that is missing here does not compile. */
const BODIES: Readonly<Record<WithBody, (tenant: WalkTenant) => object>> = {
  'POST /v1/messages/send': ({ domainName }) => messageFrom(domainName),
  'POST /v1/messages/batch': ({ domainName }) => ({ messages: [messageFrom(domainName)] }),
  'POST /v1/messages/analyze': ({ domainName }) => messageFrom(domainName),
  'POST /v1/messages/:id/cancel': () => ({}),
  'PATCH /v1/messages/:id': () => ({ scheduled_at: inAnHour() }),
  'POST /v1/audit/checkpoints': () => ({}),
  'POST /v1/audit/auditors': () => newAuditor(),
  'POST /v1/api-keys': ({ domainId }) => ({ name: 'Walk', domain_id: domainId, permissions: ['send'] }),
  'PATCH /v1/api-keys/:id': () => ({ name: 'Another' }),
  'POST /v1/api-keys/:id/rotate': () => ({}),
  'POST /v1/api-keys/:id/revoke': () => ({}),
  'POST /v1/domains': () => ({ name: newName() }),
  'PATCH /v1/domains/:id': () => ({ branding: { name: 'Walk' } }),
  'POST /v1/domains/:id/verify': () => ({}),
  'POST /v1/destinations/release': () => ({ destination: 'example.net' }),
  'POST /v1/domains/:id/dkim/rotate': () => ({}),
  'POST /v1/domains/:id/release': () => ({}),
  'PATCH /v1/organization': () => ({ name: 'Walk' }),
  'PUT /v1/organization/holds': () => ({ active: false }),
  'POST /v1/organization/release': () => ({}),
  'PUT /v1/billing/plan': () => ({ plan: 'unlimited' }),
  'PUT /v1/domains/:id/warm-up': () => ({ plan: [50, 100] }),
  'POST /v1/templates': () => newTemplate(),
  'PATCH /v1/templates/:id': () => ({ subject: 'Another' }),
  'POST /v1/templates/:id/publish': () => ({}),
  'POST /v1/templates/:id/rollback': () => ({ version: 1 }),
  'POST /v1/templates/:id/render': () => ({}),
  'POST /v1/templates/:id/test-send': () => ({ to: 'b@example.org' }),
  'POST /v1/suppressions': () => ({ address: newPerson() }),
  'POST /v1/suppressions/import': () => ({ csv: `address\n${newPerson()}\n` }),
  'POST /v1/erasures': () => ({ address: newPerson() }),
  'POST /v1/erasures/preview': () => ({ address: newPerson() }),
  'POST /v1/topics': () => ({ name: 'Walk', default: 'in' }),
  'PATCH /v1/topics/:id': () => ({ name: 'Another' }),
  'POST /v1/topics/:id/opt-ins': () => ({ addresses: ['walk@example.net'] }),
  'POST /v1/webhooks': () => ({ url: LISTENER, events: ['message.*'] }),
  'PATCH /v1/webhooks/:id': () => ({ description: 'Another' }),
  'POST /v1/webhooks/:id/rotate-secret': () => ({}),
  'POST /v1/webhooks/:id/ping': () => ({}),
  'POST /v1/webhooks/:id/replay': () => ({ after: 'start' }),
  'POST /v1/webhooks/:id/deliveries/:delivery/resend': () => ({}),
};

const hasBody = (name: GuardedRouteName): name is WithBody => Object.hasOwn(BODIES, name);

/** A replay of a webhook of the walk, which has ended. */
const replayOf = (webhookId: string): string => `rpl_${webhookId.slice(4)}`;

/** Each webhook of the walk is owed it. */
const WALKED_EVENT: CustomerEvent = {
  id: 'evt_walk',
  type: 'message.accepted',
  timestamp: new Date(0).toISOString(),
  organizationId: 'org_walk',
  environment: null,
  subjectId: 'msg_walk',
  sequence: 1,
  recipientId: null,
  contentId: null,
  facts: {},
};

/** What a route asks for that its path does not say. */
const QUERIES: Readonly<Partial<Record<GuardedRouteName, string>>> = {
  'GET /v1/suppressions/check': '?address=ann@example.net',
  'GET /v1/audit/consistency': '?from=1',
  'GET /v1/templates/:id/versions/:version/diff': '?with=1',
};

/** Of a route, as the tenant would ask it with nothing wrong. @param id instead of `:id`. */
export const requestOf = ({ name, method, url }: WalkedRoute, tenant: WalkTenant, id = ''): InjectOptions => ({
  method: method as 'GET',
  url: `${url.replace(':id', id).replace(':organization', tenant.organizationId).replace('*', 'entries/000.p/1').replace(':version', '1').replace(':delivery', deliveryId(id, WALKED_EVENT.id)).replace(':replay', replayOf(id))}${QUERIES[name] ?? ''}`,
  remoteAddress: nextAddress(), // the table's own
  ...(hasBody(name) ? { payload: BODIES[name](tenant) } : {}),
});

export const openWalkTenant = async (service: Service): Promise<WalkTenant> => {
  const organizationId = await service.makeOrganization();
  const domainName = newName();
  const domainId = await service.makeDomain(organizationId, domainName);
  const keys = new Map<string, string>();
  for (const { permission, environment } of HOLDERS) {
    const { value } = await service.makeKey(organizationId, domainId, { permissions: [permission], environment });
    keys.set(`${permission} ${environment}`, value);
  }
  const keyOf = ({ permission, environment }: Holder): string => keys.get(`${permission} ${environment}`) ?? '';

  const create = async (url: string, environment: Environment, payload: object): Promise<string> => {
    const key = keyOf({ permission: 'admin', environment });
    return (await service.request({ method: 'POST', url, key, payload })).json().id;
  };
  const makeMessage = (environment: Environment) =>
    create('/v1/messages/send', environment, { ...messageFrom(domainName), scheduled_at: inAnHour() });
  const makeKey = async (environment: Environment) =>
    (await service.makeKey(organizationId, domainId, { permissions: ['send'], environment })).id;
  const firstEvent = async (): Promise<string> => {
    const key = keyOf({ permission: 'admin', environment: 'live' });
    const log = await service.request({ url: '/v1/audit/log?order=asc&limit=1', key });
    return log.json().data?.[0]?.event_id ?? '00000000-0000-7000-8000-000000000000'; // without a database: none
  };

  const makers: Readonly<Record<Kind, (environment: Environment) => Promise<string>>> = {
    messages: makeMessage,
    'api-keys': makeKey,
    // Live keys alone read reports, and of their own environment's messages.
    'audit/reports/messages': () => makeMessage('live'),
    'audit/reports/api-keys': makeKey,
    domains: () => service.makeDomain(organizationId, newName()),
    suppressions: (environment) => create('/v1/suppressions', environment, { address: newPerson() }),
    // One that has a version, and a draft that could be the next.
    templates: async () => {
      const key = keyOf({ permission: 'admin', environment: 'live' });
      const id = await create('/v1/templates', 'live', newTemplate());
      await service.request({ method: 'POST', url: `/v1/templates/${id}/publish`, key, payload: {} });
      await service.request({ method: 'PATCH', url: `/v1/templates/${id}`, key, payload: { subject: 'Next' } });
      return id;
    },
    erasures: () => create('/v1/erasures', 'live', { address: newPerson() }),
    topics: () => create('/v1/topics', 'live', { name: 'Walk', default: 'in' }),
    'billing/invoices': async () => {
      const { context } = service.deps;
      invoices += 1;
      const month = `${2000 + invoices}-01`;
      const count = async () => ({ days: new Map(), countedTo: { position: '', at: null } });
      await closePeriod(context, { organizationId, month, count });
      return invoiceIdOf(organizationId, month);
    },
    // One that is owed something.
    webhooks: async (environment) => {
      const webhookId = await create('/v1/webhooks', environment, { url: LISTENER, events: ['message.*'] });
      const deliveries = service.deps.webhookDeliveries as WebhookDeliveries; // what the service has is whole
      const { position = null, logId = 'walk' } = (await deliveries.checkpoint()) ?? {};
      const owed = [{ id: deliveryId(webhookId, WALKED_EVENT.id), webhookId, event: WALKED_EVENT }];
      const to = String(Number(position ?? 0) + 1);
      expect(await deliveries.record({ logId, from: position, to, owed, now: new Date(0) })).toBe(true);
      const id = replayOf(webhookId);
      const until = new Date(0);
      const place = { position: '', index: 0 };
      await deliveries.startReplay({ id, webhookId, since: null, until, place, upTo: '', createdAt: until });
      await deliveries.cancelReplay(id, until);
      return webhookId;
    },
    'audit/auditors': () => create('/v1/audit/auditors', 'live', newAuditor()),
    'audit/proof': firstEvent,
    'audit/disclosures': firstEvent,
    inbox: async (environment) => {
      const { inbox } = service.deps;
      const raw = Buffer.from('Subject: Walk\r\n\r\nWalk\r\n');
      const envelope = { environment, from: `a@${domainName}`, to: ['b@example.org'] };
      await inbox?.store({ ...envelope, raw, receivedAt: new Date(0) });
      return (await inbox?.list({ limit: 1 }))?.mails[0]?.id ?? '';
    },
  };
  // What is asked for below is signed.
  await create('/v1/audit/checkpoints', 'live', {});
  return {
    organizationId,
    domainId,
    domainName,
    keyOf,
    make: async (kind, environment) => {
      const id = await makers[kind](environment);
      expect(id).toMatch(new RegExp(KINDS[kind].prefix === null ? '^[0-9a-f-]+$' : `^${KINDS[kind].prefix}_`));
      return id;
    },
  };
};

/** Status, code and message are as the table says, and a refusal says nothing else. */
export const expectAnswer = (answer: LightMyRequestResponse, { status, error }: Expected): void => {
  const isJson = String(answer.headers['content-type']).startsWith('application/json;');
  const told = isJson ? answer.json() : null;
  expect([answer.statusCode, told?.error ?? null]).toEqual([status, error]);
  if (error !== null) expect(told).toEqual({ error });
  expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/);
};
