import type { GuardedRouteName } from '../../../src/http/route-table.ts';

/** Names, addresses and bodies for the requests of the walk. */

const HOUR_MS = 3_600_000;
/** URL of a webhook of the walk. No server listens there. */
export const LISTENER = 'http://127.0.0.1:9/';

/** The domain that a tenant of the walk sends from. */
export interface WalkedDomain {
  readonly domainId: string;
  readonly domainName: string;
}

let names = 0;

/** Domain names are unique: a name belongs to the first organization that proves it. */
export const newName = (): string => {
  names += 1;
  return `walk${names}.test`;
};

let people = 0;

export const newPerson = (): string => {
  people += 1;
  return `walk${people}@example.org`;
};

let addresses = 0;

/** Failures are limited by address, so each request of the walk uses a new one. */
export const nextAddress = (): string => {
  addresses += 1;
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`;
};

export const inAnHour = (): string => new Date(Date.now() + HOUR_MS).toISOString();

export const messageFrom = (domainName: string) => ({
  from: `a@${domainName}`,
  to: 'b@example.org',
  subject: 'Walk',
  text: 'Walk',
});

export const newTemplate = () => ({
  alias: newName().replace('.', '-'),
  name: 'Walk',
  subject: 'Walk',
  html: '<p>Walk</p>',
});

export const newAuditor = () => ({ name: 'Walk', expires_at: inAnHour() });

export const newMember = () => ({ email: newPerson(), role: 'analyst' });

type WithBody = Exclude<GuardedRouteName, `GET ${string}` | `DELETE ${string}` | `${string} /compat/${string}`>;

/** A valid body for every route with a body. A missing route is a compile error. */
export const BODIES: Readonly<Record<WithBody, (tenant: WalkedDomain) => object>> = {
  'POST /v1/messages/send': ({ domainName }) => messageFrom(domainName),
  'POST /v1/messages/batch': ({ domainName }) => ({ messages: [messageFrom(domainName)] }),
  'POST /v1/messages/analyze': ({ domainName }) => messageFrom(domainName),
  'POST /v1/messages/:id/cancel': () => ({}),
  'POST /v1/messages/:id/resend': () => ({}),
  'POST /v1/messages/resend': () => ({ ids: ['unknown'] }),
  'POST /v1/messages/cancel': () => ({ ids: ['nowhere'] }), // a filter needs 'read' too
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
  'PUT /v1/organization/contents': () => ({ allowed_to: [] }),
  'PUT /v1/organization/bulk-mail': () => ({ paused: false }),
  'POST /v1/organization/release': () => ({}),
  'POST /v1/members': () => newMember(),
  'POST /v1/session/presence': () => ({ token: 'x' }),
  'PUT /v1/session/views': () => ({ views: [{ name: 'Bounced', path: '/messages', query: 'status=bounced' }] }),
  'POST /v1/passkeys': () => ({ credential_id: 'AA', client_data: 'AA', attestation_object: 'AA' }),
  'PATCH /v1/members/:id': () => ({ role: 'developer' }),
  'POST /v1/members/:id/links': () => ({}),
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
  'POST /v1/inbound/test': ({ domainName }) => ({ raw: 'Subject: Walk\r\n\r\nWalk\r\n', to: `walk@${domainName}` }),
  'POST /v1/inbound-routes': ({ domainId }) => ({
    domain_id: domainId,
    match: 'walk',
    action: 'forward',
    forward_to: 'ann@example.net',
  }),
  'PATCH /v1/inbound-routes/:id': () => ({ match: 'another' }),
  'POST /v1/inbound-routes/:id/confirmations': () => ({}),
  'POST /v1/webhooks': () => ({ url: LISTENER, events: ['message.*'] }),
  'PATCH /v1/webhooks/:id': () => ({ description: 'Another' }),
  'POST /v1/webhooks/:id/rotate-secret': () => ({}),
  'POST /v1/webhooks/:id/adopt': () => ({}),
  'POST /v1/webhooks/:id/ping': () => ({}),
  'POST /v1/webhooks/:id/replay': () => ({ after: 'start' }),
  'POST /v1/webhooks/:id/deliveries/:delivery/resend': () => ({}),
  'POST /v1/inbound/:id/resend': () => ({}),
};

export const hasBody = (name: GuardedRouteName): name is WithBody => Object.hasOwn(BODIES, name);
