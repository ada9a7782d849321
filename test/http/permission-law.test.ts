import { describe, expect, test } from 'vitest';
import type { RouteRule } from '../../src/http/route-rules.ts';
import { ROUTES } from '../../src/http/route-table.ts';

// Written by hand from the specification (§4, §5.3) and the documented permissions, not from the route table. The walks
// (`every-route-*.slow.test.ts`) prove that the service follows the table, and this file that the table is right. To
// add a new route here, decide who may use it.

/** Routes by the permission that a key needs. */
const PERMISSIONS = {
  send: `
    POST /v1/messages/send
    POST /v1/messages/batch
    POST /v1/messages/analyze
    POST /v1/messages/:id/cancel
    POST /v1/messages/:id/resend
    POST /v1/messages/resend
    POST /v1/messages/cancel
    PATCH /v1/messages/:id
    POST /v1/templates/:id/test-send
    POST /v1/inbound/test
    POST /compat/resend/emails
    POST /compat/resend/emails/batch
    PATCH /compat/resend/emails/:id
    POST /compat/resend/emails/:id/cancel
    POST /compat/postmark/email
    POST /compat/postmark/email/batch
    POST /compat/postmark/email/withTemplate
    POST /compat/postmark/email/batchWithTemplates
    POST /compat/sendgrid/v3/mail/send
    POST /compat/mailgun/v3/:domain/messages
  `,
  read: `
    GET /v1/messages
    GET /v1/messages/:id
    GET /v1/messages/:id/content
    GET /v1/messages/:id/preview
    GET /v1/messages/:id/raw
    GET /v1/messages/:id/events
    GET /v1/messages/:id/explain
    GET /v1/suppressions
    GET /v1/suppressions/check
    GET /v1/suppressions/export
    GET /v1/suppressions/:id
    GET /v1/topics/:id/opt-ins
    GET /v1/inbound
    GET /v1/inbound/:id
    GET /v1/inbound/:id/preview
    GET /v1/inbound/:id/raw
    GET /v1/inbound/:id/attachments/:place
    GET /v1/session/views
    PUT /v1/session/views
    DELETE /v1/session
    POST /v1/session/presence
    GET /v1/passkeys
    POST /v1/passkeys
    DELETE /v1/passkeys/:passkey
    GET /v1/events
    GET /v1/stats
    GET /v1/requests
    GET /v1/requests/counts
    GET /v1/requests/:id
    GET /v1/search
    GET /v1/submission
    GET /v1/service
    GET /compat/resend/emails
    GET /compat/resend/contacts
    GET /compat/resend/contacts/:id
    GET /compat/resend/audiences/:audience/contacts/:id
    GET /compat/resend/emails/:id
    GET /compat/postmark/messages/outbound/:id/details
    GET /compat/postmark/messages/outbound/:id/dump
    GET /compat/postmark/messages/outbound
    GET /compat/postmark/messages/outbound/opens
    GET /compat/postmark/messages/outbound/opens/:id
    GET /compat/postmark/messages/outbound/clicks
    GET /compat/postmark/messages/outbound/clicks/:id
    GET /compat/postmark/bounces
    GET /compat/postmark/bounces/:id
    GET /compat/postmark/stats/outbound
    GET /compat/postmark/stats/outbound/sends
    GET /compat/postmark/stats/outbound/bounces
    GET /compat/postmark/stats/outbound/spam
    GET /compat/postmark/stats/outbound/opens
    GET /compat/postmark/stats/outbound/clicks
    GET /compat/postmark/deliveryStats
    GET /compat/postmark/message-streams/:stream/suppressions/dump
    GET /compat/sendgrid/v3/suppression/:list
    GET /compat/sendgrid/v3/suppression/:list/:id
    GET /compat/sendgrid/v3/asm/suppressions/global/:id
    GET /compat/sendgrid/v3/stats
    GET /compat/sendgrid/v3/categories/stats
    GET /compat/mailgun/v3/:domain/events
    GET /compat/mailgun/v3/:domain/events/:id
    GET /compat/mailgun/v3/:domain/stats/total
    GET /compat/mailgun/v3/:domain/:list
    GET /compat/mailgun/v3/:domain/:list/:id
  `,
  manage: `
    POST /v1/api-keys
    GET /v1/api-keys
    GET /v1/api-keys/:id
    PATCH /v1/api-keys/:id
    DELETE /v1/api-keys/:id
    GET /v1/api-keys/:id/history
    GET /v1/api-keys/:id/secrets
    POST /v1/api-keys/:id/rotate
    POST /v1/api-keys/:id/revoke
    POST /v1/domains
    PATCH /v1/domains/:id
    DELETE /v1/domains/:id
    GET /v1/domains
    GET /v1/domains/:id
    GET /v1/domains/:id/reputation
    GET /v1/domains/:id/warm-up
    PUT /v1/domains/:id/warm-up
    DELETE /v1/domains/:id/warm-up
    POST /v1/domains/:id/dkim/rotate
    POST /v1/domains/:id/verify
    POST /v1/webhooks
    GET /v1/webhooks
    GET /v1/webhooks/:id
    PATCH /v1/webhooks/:id
    POST /v1/webhooks/:id/rotate-secret
    POST /v1/webhooks/:id/adopt
    POST /v1/webhooks/:id/ping
    DELETE /v1/webhooks/:id
    GET /v1/webhooks/:id/deliveries
    GET /v1/webhooks/:id/deliveries/:delivery
    POST /v1/webhooks/:id/replay
    GET /v1/webhooks/:id/replays
    GET /v1/webhooks/:id/replays/:replay
    DELETE /v1/webhooks/:id/replays/:replay
    POST /v1/webhooks/:id/deliveries/:delivery/resend
    POST /v1/templates
    GET /v1/templates
    GET /v1/templates/:id
    PATCH /v1/templates/:id
    DELETE /v1/templates/:id
    POST /v1/templates/:id/publish
    POST /v1/templates/:id/rollback
    GET /v1/templates/:id/versions
    GET /v1/templates/:id/versions/:version
    GET /v1/templates/:id/versions/:version/diff
    POST /v1/templates/:id/render
    GET /v1/templates/:id/preview
    POST /v1/suppressions
    POST /v1/suppressions/import
    DELETE /v1/suppressions/:id
    POST /v1/topics
    POST /v1/topics/:id/opt-ins
    GET /v1/topics
    GET /v1/topics/:id
    PATCH /v1/topics/:id
    DELETE /v1/topics/:id
    GET /v1/inbound/:id/deliveries
    POST /v1/inbound/:id/resend
    POST /v1/inbound-routes
    POST /v1/inbound-routes/:id/confirmations
    GET /v1/inbound-routes
    GET /v1/inbound-routes/:id
    PATCH /v1/inbound-routes/:id
    DELETE /v1/inbound-routes/:id
    GET /v1/organization/reputation
    POST /compat/resend/domains
    GET /compat/resend/domains
    GET /compat/resend/domains/:id
    PATCH /compat/resend/domains/:id
    DELETE /compat/resend/domains/:id
    POST /compat/resend/domains/:id/verify
    POST /compat/resend/api-keys
    GET /compat/resend/api-keys
    DELETE /compat/resend/api-keys/:id
    POST /compat/resend/contacts
    PATCH /compat/resend/contacts/:id
    DELETE /compat/resend/contacts/:id
    POST /compat/resend/audiences/:audience/contacts
    PATCH /compat/resend/audiences/:audience/contacts/:id
    DELETE /compat/resend/audiences/:audience/contacts/:id
    POST /compat/postmark/message-streams/:stream/suppressions
    POST /compat/postmark/message-streams/:stream/suppressions/delete
    POST /compat/resend/templates
    GET /compat/resend/templates
    GET /compat/resend/templates/:id
    PATCH /compat/resend/templates/:id
    DELETE /compat/resend/templates/:id
    POST /compat/resend/templates/:id/publish
    POST /compat/resend/templates/:id/duplicate
    POST /compat/resend/webhooks
    GET /compat/resend/webhooks
    GET /compat/resend/webhooks/:id
    PATCH /compat/resend/webhooks/:id
    DELETE /compat/resend/webhooks/:id
    POST /compat/resend/webhooks/:id/signing-secret/rotate
    GET /compat/postmark/templates
    POST /compat/postmark/templates
    GET /compat/postmark/templates/:id
    PUT /compat/postmark/templates/:id
    DELETE /compat/postmark/templates/:id
    DELETE /compat/sendgrid/v3/suppression/:list
    DELETE /compat/sendgrid/v3/suppression/:list/:id
    GET /compat/sendgrid/v3/templates
    POST /compat/sendgrid/v3/templates
    GET /compat/sendgrid/v3/templates/:id
    PATCH /compat/sendgrid/v3/templates/:id
    DELETE /compat/sendgrid/v3/templates/:id
    POST /compat/sendgrid/v3/templates/:id/versions
    GET /compat/sendgrid/v3/templates/:id/versions/:version
    PATCH /compat/sendgrid/v3/templates/:id/versions/:version
    DELETE /compat/sendgrid/v3/templates/:id/versions/:version
    POST /compat/sendgrid/v3/templates/:id/versions/:version/activate
    POST /compat/sendgrid/v3/asm/suppressions/global
    DELETE /compat/sendgrid/v3/asm/suppressions/global/:id
    POST /compat/mailgun/v3/:domain/:list
    DELETE /compat/mailgun/v3/:domain/:list/:id
    GET /compat/mailgun/v4/domains
    GET /compat/mailgun/v3/domains
    GET /compat/mailgun/v4/domains/:domain
    GET /compat/mailgun/v3/domains/:domain
    PUT /compat/mailgun/v3/domains/:domain/verify
    PUT /compat/mailgun/v4/domains/:domain/verify
  `,
  admin: `
    POST /v1/domains/:id/release
    GET /v1/members
    POST /v1/members
    GET /v1/members/:id
    PATCH /v1/members/:id
    DELETE /v1/members/:id
    POST /v1/members/:id/links
    GET /v1/members/:id/passkeys
    DELETE /v1/members/:id/passkeys/:passkey
    GET /v1/sessions
    GET /v1/sessions/:id
    DELETE /v1/sessions/:id
    GET /v1/billing
    GET /v1/billing/plans
    PUT /v1/billing/plan
    GET /v1/billing/invoices
    GET /v1/billing/invoices/:id
    GET /v1/billing/usage
    GET /v1/audit/log
    GET /v1/audit/checkpoints
    POST /v1/audit/checkpoints
    GET /v1/audit/proof/:id
    GET /v1/audit/disclosures/:id
    GET /v1/audit/consistency
    GET /v1/audit/export
    GET /v1/audit/tlog/:organization/checkpoint
    GET /v1/audit/tlog/:organization/tile/*
    GET /v1/audit/reports/access
    GET /v1/audit/reports/api-keys/:id
    GET /v1/audit/reports/messages/:id
    POST /v1/audit/auditors
    GET /v1/audit/auditors
    GET /v1/audit/auditors/:id
    DELETE /v1/audit/auditors/:id
    GET /v1/inbox
    GET /v1/inbox/:id
    GET /v1/inbox/:id/raw
    GET /v1/inbox/:id/attachments/:place
    DELETE /v1/inbox
    DELETE /v1/inbox/:id
    GET /v1/destinations
    GET /v1/destinations/backlog
    POST /v1/destinations/release
    POST /v1/erasures
    POST /v1/erasures/preview
    GET /v1/erasures
    GET /v1/erasures/:id
    GET /v1/organization
    PATCH /v1/organization
    PUT /v1/organization/holds
    PUT /v1/organization/contents
    PUT /v1/organization/bulk-mail
    POST /v1/organization/release
  `,
  any: `
    GET /v1/session
    GET /v1/session/operations
  `,
} as const;

/** Routes with further conditions. */
const CONDITIONS = {
  /** Test keys are refused: these routes change or show data of both environments, or data that only live mail has. */
  liveOnly: `
    POST /v1/domains
    PATCH /v1/domains/:id
    DELETE /v1/domains/:id
    POST /v1/domains/:id/release
    PUT /v1/domains/:id/warm-up
    DELETE /v1/domains/:id/warm-up
    POST /v1/domains/:id/dkim/rotate
    POST /v1/domains/:id/verify
    POST /compat/resend/domains
    PATCH /compat/resend/domains/:id
    DELETE /compat/resend/domains/:id
    POST /compat/sendgrid/v3/templates
    PATCH /compat/sendgrid/v3/templates/:id
    DELETE /compat/sendgrid/v3/templates/:id
    POST /compat/sendgrid/v3/templates/:id/versions
    PATCH /compat/sendgrid/v3/templates/:id/versions/:version
    DELETE /compat/sendgrid/v3/templates/:id/versions/:version
    POST /compat/sendgrid/v3/templates/:id/versions/:version/activate
    POST /compat/resend/templates
    PATCH /compat/resend/templates/:id
    DELETE /compat/resend/templates/:id
    POST /compat/resend/templates/:id/publish
    POST /compat/resend/templates/:id/duplicate
    POST /compat/postmark/templates
    PUT /compat/postmark/templates/:id
    DELETE /compat/postmark/templates/:id
    POST /compat/resend/domains/:id/verify
    PUT /compat/mailgun/v3/domains/:domain/verify
    PUT /compat/mailgun/v4/domains/:domain/verify
    POST /v1/templates
    PATCH /v1/templates/:id
    DELETE /v1/templates/:id
    POST /v1/templates/:id/publish
    POST /v1/templates/:id/rollback
    POST /v1/topics
    PATCH /v1/topics/:id
    DELETE /v1/topics/:id
    POST /v1/inbound-routes
    POST /v1/inbound-routes/:id/confirmations
    PATCH /v1/inbound-routes/:id
    DELETE /v1/inbound-routes/:id
    GET /v1/passkeys
    POST /v1/passkeys
    DELETE /v1/passkeys/:passkey
    GET /v1/members
    POST /v1/members
    GET /v1/members/:id
    PATCH /v1/members/:id
    DELETE /v1/members/:id
    POST /v1/members/:id/links
    GET /v1/members/:id/passkeys
    DELETE /v1/members/:id/passkeys/:passkey
    GET /v1/sessions
    GET /v1/sessions/:id
    DELETE /v1/sessions/:id
    PUT /v1/billing/plan
    GET /v1/audit/log
    GET /v1/audit/checkpoints
    POST /v1/audit/checkpoints
    GET /v1/audit/proof/:id
    GET /v1/audit/disclosures/:id
    GET /v1/audit/consistency
    GET /v1/audit/export
    GET /v1/audit/tlog/:organization/checkpoint
    GET /v1/audit/tlog/:organization/tile/*
    GET /v1/audit/reports/access
    GET /v1/audit/reports/api-keys/:id
    GET /v1/audit/reports/messages/:id
    POST /v1/audit/auditors
    GET /v1/audit/auditors
    GET /v1/audit/auditors/:id
    DELETE /v1/audit/auditors/:id
    GET /v1/destinations
    POST /v1/destinations/release
    POST /v1/erasures
    POST /v1/erasures/preview
    PATCH /v1/organization
    PUT /v1/organization/holds
    PUT /v1/organization/contents
    PUT /v1/organization/bulk-mail
    POST /v1/organization/release
  `,
  /** Auditors can read these with their token. */
  auditors: `
    GET /v1/messages
    GET /v1/messages/:id
    GET /v1/messages/:id/events
    GET /v1/messages/:id/explain
    GET /v1/suppressions
    GET /v1/suppressions/:id
    GET /v1/api-keys
    GET /v1/api-keys/:id
    GET /v1/api-keys/:id/history
    GET /v1/api-keys/:id/secrets
    GET /v1/domains
    GET /v1/domains/:id
    GET /v1/webhooks
    GET /v1/webhooks/:id
    GET /v1/templates
    GET /v1/templates/:id
    GET /v1/templates/:id/versions
    GET /v1/members
    GET /v1/members/:id
    GET /v1/audit/log
    GET /v1/audit/checkpoints
    GET /v1/audit/proof/:id
    GET /v1/audit/disclosures/:id
    GET /v1/audit/consistency
    GET /v1/audit/export
    GET /v1/audit/tlog/:organization/checkpoint
    GET /v1/audit/tlog/:organization/tile/*
    GET /v1/audit/reports/access
    GET /v1/audit/reports/api-keys/:id
    GET /v1/audit/reports/messages/:id
    GET /v1/audit/auditors
    GET /v1/audit/auditors/:id
    GET /v1/erasures
    GET /v1/erasures/:id
  `,
  /** Refused to members without access to contents. */
  contents: `
    GET /v1/messages/:id/content
    GET /v1/messages/:id/preview
    GET /v1/messages/:id/raw
    GET /v1/suppressions/check
    GET /v1/suppressions/export
    GET /v1/audit/disclosures/:id
    GET /v1/audit/reports/messages/:id
    POST /v1/inbound/test
    GET /v1/inbound/:id
    GET /v1/inbound/:id/preview
    GET /v1/inbound/:id/raw
    GET /v1/inbound/:id/attachments/:place
    GET /v1/inbox
    GET /v1/inbox/:id
    GET /v1/inbox/:id/raw
    GET /v1/inbox/:id/attachments/:place
    GET /compat/resend/emails/:id
    GET /compat/postmark/messages/outbound/:id/details
    GET /compat/postmark/messages/outbound/:id/dump
    GET /compat/postmark/message-streams/:stream/suppressions/dump
    GET /compat/sendgrid/v3/suppression/:list
    GET /compat/sendgrid/v3/suppression/:list/:id
    GET /compat/sendgrid/v3/asm/suppressions/global/:id
    GET /compat/mailgun/v3/:domain/:list
    GET /compat/mailgun/v3/:domain/:list/:id
  `,
  /** API keys are refused. */
  membersOnly: `
    GET /v1/session/views
    PUT /v1/session/views
    POST /v1/session/presence
    GET /v1/passkeys
    POST /v1/passkeys
    DELETE /v1/passkeys/:passkey
    PUT /v1/organization/contents
    GET /v1/service
  `,
  /** Only for members whom the command line has made operators. */
  operatorsOnly: `
    GET /v1/service
  `,
  /** Also open to read-only members: they only change their own session, views or passkeys. */
  ownSession: `
    GET /v1/session/views
    PUT /v1/session/views
    DELETE /v1/session
    POST /v1/session/presence
    GET /v1/passkeys
    POST /v1/passkeys
    DELETE /v1/passkeys/:passkey
  `,
  /** Open to owners and developers only, whatever permissions other members have. */
  ownersAndDevelopers: `
    GET /v1/inbox
    GET /v1/inbox/:id
    GET /v1/inbox/:id/raw
    GET /v1/inbox/:id/attachments/:place
    DELETE /v1/inbox
    DELETE /v1/inbox/:id
  `,
  /** Open to developers too, who may not use `admin`. */
  developersToo: `
    GET /v1/destinations
    GET /v1/destinations/backlog
  `,
  /** Members must have proved their presence recently. */
  presence: `
    POST /v1/passkeys
    DELETE /v1/passkeys/:passkey
    POST /v1/members
    PATCH /v1/members/:id
    DELETE /v1/members/:id
    POST /v1/members/:id/links
    DELETE /v1/members/:id/passkeys/:passkey
    GET /v1/audit/export
    POST /v1/audit/auditors
    POST /v1/erasures
    PUT /v1/organization/contents
  `,
  /** Members must have proved their presence recently if the key has, or will have, `admin`. */
  presenceForAdminKeys: `
    POST /v1/api-keys
    PATCH /v1/api-keys/:id
    DELETE /v1/api-keys/:id
    POST /v1/api-keys/:id/rotate
    POST /v1/api-keys/:id/revoke
    POST /compat/resend/api-keys
    DELETE /compat/resend/api-keys/:id
  `,
} as const;

/** Routes that need no key. */
const PUBLIC = `
  POST /v1/session
  POST /v1/session/challenges
  POST /v1/session/links
  POST /v1/session/oidc
  POST /v1/session/memberships
  GET /v1/session/methods
  GET /unsubscribe/:token
  POST /unsubscribe/:token
  GET /c/:token
  GET /o/:token
  GET /view/:token
  GET /inbound-attachments/:token
  GET /preferences/:token
  POST /preferences/:token
  GET /forward/:token
  POST /forward/:token
  GET /dashboard
  GET /dashboard/:screen
  GET /dashboard/:screen/:id
  GET /dashboard/assets/:name
  GET /.well-known/outbox-audit/:organization
  GET /
  GET /livez
  GET /readyz
  GET /openapi.json
  GET /docs
  GET /docs/:page
`;

const lines = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .sort();

const TABLE: readonly (readonly [string, RouteRule])[] = Object.entries(ROUTES);
const namesOf = (holds: (rule: RouteRule) => boolean): readonly string[] =>
  TABLE.filter(([, rule]) => holds(rule))
    .map(([name]) => name)
    .sort();

const guarded = (holds: (rule: Exclude<RouteRule, { readonly permission: null }>) => boolean): readonly string[] =>
  namesOf((rule) => rule.permission !== null && holds(rule));

describe('the route table', () => {
  test.each(Object.entries(PERMISSIONS))('requires %s where the documentation does', (permission, routes) => {
    expect(guarded((rule) => rule.permission === permission)).toEqual(lines(routes));
  });

  test('needs no key only where the documentation says so', () => {
    expect(namesOf(({ permission }) => permission === null)).toEqual(lines(PUBLIC));
  });

  test.each([
    ['refuses test keys', CONDITIONS.liveOnly, guarded(({ environments }) => !environments.includes('test'))],
    ['admits auditors', CONDITIONS.auditors, guarded(({ auditors }) => auditors === true)],
    ['withholds contents', CONDITIONS.contents, guarded(({ contents }) => contents === true)],
    ['refuses keys', CONDITIONS.membersOnly, guarded(({ membersOnly }) => membersOnly === true)],
    ['admits only operators', CONDITIONS.operatorsOnly, guarded(({ operatorsOnly }) => operatorsOnly === true)],
    ['admits read-only members', CONDITIONS.ownSession, guarded(({ ownSession }) => ownSession === true)],
    [
      'admits members by their role',
      CONDITIONS.ownersAndDevelopers,
      guarded(({ roles }) => roles?.join() === 'owner,developer'),
    ],
    [
      'admits developers besides members with admin',
      CONDITIONS.developersToo,
      guarded(({ roles }) => roles?.join() === 'owner,developer,auditor'),
    ],
    [
      'asks for presence',
      CONDITIONS.presence,
      guarded(({ presence }) => presence === 'always' || presence === 'unlessFirst'),
    ],
    [
      'asks for presence about admin keys',
      CONDITIONS.presenceForAdminKeys,
      guarded(({ presence }) => presence === 'ofAdminKeys'),
    ],
  ])('%s where the documentation does', (_, expected, found) => {
    expect(found).toEqual(lines(expected));
  });
});
