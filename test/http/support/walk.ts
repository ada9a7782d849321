import { randomUUID } from 'node:crypto';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import { closePeriod } from '../../../src/commands/billing.ts';
import { eventContext, execute } from '../../../src/commands/execute.ts';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { addressDigest, recordSuppression } from '../../../src/commands/suppression.ts';
import { permissionSchema } from '../../../src/domain/api-key/events.ts';
import { invoiceIdOf } from '../../../src/domain/billing/invoice.ts';
import type { CustomerEvent } from '../../../src/domain/customer-events/customer-events.ts';
import { type Environment, environmentSchema } from '../../../src/domain/kernel/environment.ts';
import { membersStream } from '../../../src/domain/kernel/streams.ts';
import { addPasskey, members } from '../../../src/domain/member/member.ts';
import { deliveryId, type WebhookDeliveries } from '../../../src/domain/ports/webhooks.ts';
import type { GuardedRouteName } from '../../../src/http/route-table.ts';
import { receive } from './received-mail.ts';
import { operator, type Service } from './service.ts';
import { signInWith } from './sign-in.ts';
import {
  BODIES,
  hasBody,
  inAnHour,
  LISTENER,
  messageFrom,
  newAuditor,
  newMember,
  newName,
  newPerson,
  newTemplate,
  nextAddress,
  type WalkedDomain,
} from './walk-bodies.ts';
import { type ExpectedAnswer, type Holder, KINDS, type Kind, type WalkedRoute } from './walk-routes.ts';

/** Each permission, separately, in each environment. */
export const HOLDERS: readonly Holder[] = environmentSchema.options.flatMap((environment) =>
  permissionSchema.options.map((permission) => ({ permission, environment })),
);

/** An organization with a domain and a key of each holder. It creates the resources that paths name. */
export interface WalkTenant extends WalkedDomain {
  readonly organizationId: string;
  keyOf(holder: Holder): string;
  /** Creates a resource to which every change of the table can be applied. @returns its id. */
  make(kind: Kind, environment: Environment): Promise<string>;
}

let invoices = 0;
let mails = 0;

/** A finished replay of a webhook of the walk. */
const replayOf = (webhookId: string): string => `rpl_${webhookId.slice(4)}`;

/** The passkey of a member of the walk. */
const passkeyOf = (memberId: string): string => `psk_${memberId.slice(4)}`;

/** An event that each webhook of the walk must deliver. */
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

const WALKED_REFUSAL = {
  principalId: 'key_walk',
  at: new Date(0),
  method: 'POST',
  route: '/v1/messages/send',
  path: '/v1/messages/send',
  status: 400,
  code: 'invalid_request',
  message: 'the request is invalid: see details',
  problems: [],
  body: null,
  clientAddress: '192.0.2.1',
  userAgent: null,
  durationMs: 1,
  count: 1,
  addressDigests: [],
} as const;

/** Query parameters that a route requires in addition to its path. */
const QUERIES: Readonly<Partial<Record<GuardedRouteName, string>>> = {
  'GET /v1/suppressions/check': '?address=ann@example.net',
  'GET /v1/audit/consistency': '?from=1',
  'GET /v1/search': '?q=walk',
  'GET /v1/templates/:id/versions/:version/diff': '?with=1',
};

/** A captured mail with an attachment. */
const WALKED_MAIL = [
  'Subject: Walk',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  ...['--b', 'Content-Type: text/plain', '', 'Walk'],
  ...['--b', 'Content-Type: text/plain; name=a.txt', '', 'x', '--b--', ''],
].join('\r\n');

/** A valid request to a route by the tenant. @param id replaces `:id`. */
export const requestOf = ({ name, method, url }: WalkedRoute, tenant: WalkTenant, id = ''): InjectOptions => ({
  method: method as 'GET',
  url: `${url.replace(':id', id).replace(':organization', tenant.organizationId).replace('*', 'entries/000.p/1').replace(':version', '1').replace(':place', '0').replace(':delivery', deliveryId(id, WALKED_EVENT.id)).replace(':replay', replayOf(id)).replace(':passkey', passkeyOf(id))}${QUERIES[name] ?? ''}`,
  remoteAddress: nextAddress(),
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
    return log.json().data?.[0]?.event_id ?? '00000000-0000-7000-8000-000000000000'; // needs a database
  };

  const makers: Readonly<Record<Kind, (environment: Environment) => Promise<string>>> = {
    messages: makeMessage,
    'api-keys': makeKey,
    // Only live keys read reports, and only of live messages.
    'audit/reports/messages': () => makeMessage('live'),
    'audit/reports/api-keys': makeKey,
    domains: () => service.makeDomain(organizationId, newName()),
    // A suppression caused by a message of the domain: keys with `read` alone see no other.
    suppressions: async (environment) => {
      const { context } = service.deps;
      const address = newPerson();
      const { suppression } = await recordSuppression(context, operator(organizationId), {
        environment,
        digest: addressDigest(await organizationSecret(context.secrets, organizationId), address),
        address,
        reason: 'bounce',
        scope: 'all',
        expiresAt: null,
        text: null,
        source: { messageId: await makeMessage(environment), recipientId: 'rcp_walk', eventId: null },
        causedAt: null,
      });
      return suppression.suppressionId;
    },
    // A template with one version, and a draft that can be published next.
    templates: async () => {
      const key = keyOf({ permission: 'admin', environment: 'live' });
      const id = await create('/v1/templates', 'live', newTemplate());
      await service.request({ method: 'POST', url: `/v1/templates/${id}/publish`, key, payload: {} });
      await service.request({ method: 'PATCH', url: `/v1/templates/${id}`, key, payload: { subject: 'Next' } });
      return id;
    },
    erasures: () => create('/v1/erasures', 'live', { address: newPerson() }),
    topics: () => create('/v1/topics', 'live', { name: 'Walk', default: 'in' }),
    inbound: (environment) => {
      mails += 1;
      const to = `walk+${mails}@${domainName}`;
      return receive(service.deps.context, { organizationId, environment, domainId, to });
    },
    'inbound-routes': () =>
      create('/v1/inbound-routes', 'live', {
        domain_id: domainId,
        match: 'walk',
        action: 'forward',
        forward_to: newPerson(),
      }),
    'billing/invoices': async () => {
      const { context } = service.deps;
      invoices += 1;
      const month = `${2000 + invoices}-01`;
      const count = async () => ({ days: new Map(), countedTo: { position: '', at: null } });
      await closePeriod(context, { organizationId, month, count });
      return invoiceIdOf(organizationId, month);
    },
    // A webhook with a pending delivery.
    webhooks: async (environment) => {
      const webhookId = await create('/v1/webhooks', environment, { url: LISTENER, events: ['message.*'] });
      const deliveries = service.deps.webhookDeliveries as WebhookDeliveries; // complete in memory
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
    members: async () => {
      const memberId = await create('/v1/members', 'live', newMember());
      const { store, system } = service.deps.context;
      const passkey = { credentialId: memberId, publicKey: 'AA', counter: 0, isSynced: false };
      await execute(
        { store, system },
        {
          aggregate: members,
          stream: membersStream(organizationId),
          context: eventContext(operator(organizationId), system.now().toISOString()),
          decide: (state) =>
            addPasskey(state, { ...passkey, memberId, passkeyId: passkeyOf(memberId), isPresent: true }),
        },
      );
      return memberId;
    },
    sessions: async () => {
      const key = keyOf({ permission: 'admin', environment: 'live' });
      const invited = await service.request({ method: 'POST', url: '/v1/members', key, payload: newMember() });
      return (await signInWith(service, invited.json().link.url)).json().id;
    },
    'audit/proof': firstEvent,
    'audit/disclosures': firstEvent,
    requests: async (environment) => {
      const id = `req_${randomUUID().replaceAll('-', '')}`;
      const refused = { ...WALKED_REFUSAL, id, organizationId, environment, domainId };
      await service.deps.refusedRequests.record([refused]);
      return id;
    },
    inbox: async (environment) => {
      const { inbox } = service.deps;
      const raw = Buffer.from(WALKED_MAIL);
      const envelope = { environment, from: `a@${domainName}`, to: ['b@example.org'] };
      await inbox?.store({ ...envelope, raw, receivedAt: new Date(0) });
      return (await inbox?.list({ limit: 1 }))?.mails[0]?.id ?? '';
    },
  };
  // The routes below need signed entries.
  await create('/v1/audit/checkpoints', 'live', {});
  return {
    organizationId,
    domainId,
    domainName,
    keyOf,
    make: async (kind, environment) => {
      const id = await makers[kind](environment);
      expect(id).toMatch(new RegExp(KINDS[kind].prefix === null ? '^(?:req_)?[0-9a-f-]+$' : `^${KINDS[kind].prefix}_`));
      return id;
    },
  };
};

/** Asserts status, code and message by the table, and no further fields in an error. */
export const expectAnswer = (answer: LightMyRequestResponse, { status, error }: ExpectedAnswer): void => {
  const isJson = String(answer.headers['content-type']).startsWith('application/json;');
  const told = isJson ? answer.json() : null;
  expect([answer.statusCode, told?.error ?? null]).toEqual([status, error]);
  if (error !== null) expect(told).toEqual({ error });
  expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/);
};
