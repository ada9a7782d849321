import { z } from 'zod';
import { RESEND_TYPES } from '../../domain/webhook/resend.ts';
import { subscribesTo } from '../../domain/webhook/webhook.ts';
import { endpoint } from '../endpoint.ts';
import type { SerializedWebhook } from '../resources/webhooks/webhook.ts';
import { pageAfter, resendPage } from './resend-account.ts';
import { as, type FieldRule, type FieldRules, perform, refused, requireFields } from './translate.ts';

/** Webhooks of the npm package `resend`: webhooks of ours in its format, which its receivers understand. */

const NAMES = { url: 'endpoint', enabled: 'status' };
/** More than there are types. */
const EVENTS_MAX = 100;

const isTheirs = (type: unknown): type is keyof typeof RESEND_TYPES =>
  typeof type === 'string' && Object.hasOwn(RESEND_TYPES, type);

const notTheirs = refused(
  `must be one of ${Object.keys(RESEND_TYPES).join(', ')}: a webhook of POST /v1/webhooks has the other events`,
);

const takeEvents: FieldRule = (value, path) => {
  if (!Array.isArray(value) || value.length > EVENTS_MAX) return { fields: { events: value } };
  const types: readonly unknown[] = value;
  return {
    fields: { events: types.flatMap((type) => (isTheirs(type) ? [...RESEND_TYPES[type]] : [])) },
    problems: types.flatMap((type, index) =>
      isTheirs(type) ? [] : (notTheirs(type, `${path}[${index}]`).problems ?? []),
    ),
  };
};

const takeStatus: FieldRule = (value, path) =>
  value === 'enabled' || value === 'disabled'
    ? { fields: { enabled: value === 'enabled' } }
    : refused('must be enabled or disabled')(value, path);

const WEBHOOK: FieldRules = { endpoint: as('url'), events: takeEvents };
const CHANGES: FieldRules = { ...WEBHOOK, status: takeStatus };

/** Their types that it gets, also of a webhook that was created for whole families of events. */
const typesOf = ({ events }: SerializedWebhook): readonly string[] =>
  Object.entries(RESEND_TYPES).flatMap(([theirs, ours]) =>
    ours.some((type) => subscribesTo(events, type)) ? [theirs] : [],
  );

const serialize = (webhook: SerializedWebhook) => ({
  id: webhook.id,
  created_at: webhook.created_at,
  status: webhook.status === 'enabled' ? 'enabled' : 'disabled',
  endpoint: webhook.url,
  events: typesOf(webhook),
});

const createResendWebhookRoute = endpoint(
  'POST /compat/resend/webhooks',
  { summary: 'webhooks.create', body: z.unknown() },
  async (call, route) => {
    const body = { ...requireFields(call.body, WEBHOOK), format: 'resend' };
    const made = { body, names: NAMES };
    const { id, secret } = await perform<SerializedWebhook & { readonly secret: string }>(
      route,
      call,
      'POST /v1/webhooks',
      made,
    );
    return { object: 'webhook', id, signing_secret: secret };
  },
);

const listResendWebhooksRoute = endpoint(
  'GET /compat/resend/webhooks',
  { summary: 'webhooks.list', query: resendPage },
  async (call, route) => {
    const { data, has_more } = await pageAfter<SerializedWebhook>(route, call, 'webhooks');
    return { object: 'list', has_more, data: data.map(serialize) };
  },
);

/** Without the secret, which is shown only once. */
const getResendWebhookRoute = endpoint(
  'GET /compat/resend/webhooks/:id',
  { summary: 'webhooks.get' },
  async (call, route) => ({
    object: 'webhook',
    ...serialize(await perform<SerializedWebhook>(route, call, 'GET /v1/webhooks/:id', { id: call.id })),
  }),
);

const updateResendWebhookRoute = endpoint(
  'PATCH /compat/resend/webhooks/:id',
  { summary: 'webhooks.update', body: z.unknown() },
  async (call, route) => {
    const body = requireFields(call.body, CHANGES);
    await perform(route, call, 'PATCH /v1/webhooks/:id', { id: call.id, body, names: NAMES });
    return { object: 'webhook', id: call.id };
  },
);

const removeResendWebhookRoute = endpoint(
  'DELETE /compat/resend/webhooks/:id',
  { summary: 'webhooks.remove' },
  async (call, route) => {
    await perform(route, call, 'DELETE /v1/webhooks/:id', { id: call.id });
    return { object: 'webhook', id: call.id, deleted: true };
  },
);

/** The previous secret also signs for the default grace period. */
const rotateResendSecretRoute = endpoint(
  'POST /compat/resend/webhooks/:id/signing-secret/rotate',
  { summary: 'webhooks.rotateSigningSecret' },
  async (call, route) => {
    const asked = { id: call.id, body: {} };
    const { secret } = await perform<{ readonly secret: string }>(
      route,
      call,
      'POST /v1/webhooks/:id/rotate-secret',
      asked,
    );
    return { object: 'webhook', id: call.id, signing_secret: secret };
  },
);

/** All routes of this file, by the name of the operation. */
export const RESEND_WEBHOOK_ROUTES = {
  createResendWebhookRoute,
  listResendWebhooksRoute,
  getResendWebhookRoute,
  updateResendWebhookRoute,
  removeResendWebhookRoute,
  rotateResendSecretRoute,
};
