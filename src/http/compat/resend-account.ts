import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { integerParameter } from '../fields.ts';
import { encodeCursor } from '../reading.ts';
import type { SerializedApiKey } from '../resources/api-keys/api-keys.ts';
import type { SerializedDomain } from '../resources/domains/domain.ts';
import type { SerializedSuppression } from '../resources/suppressions/add-suppressions.ts';
import { entryIn, findSuppressed, listSuppressed, suppress, unsuppress } from './suppressions.ts';
import {
  as,
  type FieldRules,
  ignored,
  type List,
  perform,
  refused,
  refusedUnless,
  refuseField,
  requireFields,
  requireNone,
  requireObject,
  takeFields,
} from './translate.ts';

/** Domains, API keys and contacts of the npm package `resend`, by our own operations. */

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
const ID_CHARACTERS_MAX = 64;

const NO_BEFORE = 'is not supported: read pages from the newest to the oldest, with after';

export const resendPage = z.strictObject({
  limit: integerParameter(1, LIMIT_MAX).default(LIMIT_DEFAULT),
  after: z.string().max(ID_CHARACTERS_MAX).optional(),
  before: z
    .undefined()
    .or(z.string().refine(() => false, NO_BEFORE))
    .optional(),
});

/** Lists whose pages begin after an item that is named by its id. */
export const pageAfter = async <Item extends { readonly id: string; readonly created_at: string }>(
  route: RouteContext,
  call: Call<unknown, z.output<typeof resendPage>>,
  list: 'domains' | 'api-keys' | 'templates' | 'webhooks',
): Promise<List<Item>> => {
  const { limit, after } = call.query;
  const last = after === undefined ? null : await perform<Item>(route, call, `GET /v1/${list}/:id`, { id: after });
  const cursor = last === null ? null : encodeCursor(list, { id: last.id, createdAt: last.created_at });
  const query = { limit: String(limit), ...(cursor === null ? {} : { after: cursor }) };
  return perform(route, call, `GET /v1/${list}`, { query });
};

const DOMAIN_STATUSES: Readonly<Record<SerializedDomain['status'], string>> = {
  pending: 'pending',
  verified: 'verified',
  degraded: 'partially_failed',
  failed: 'failed',
};

const RECORDS: Readonly<Record<SerializedDomain['records'][number]['purpose'], string>> = {
  ownership: 'Ownership',
  dkim: 'DKIM',
  return_path: 'SPF',
  tracking: 'Tracking',
  spf: 'SPF',
  dmarc: 'DMARC',
  mx: 'Receiving',
};

const serializeHead = ({ id, name, status, created_at, tracking }: SerializedDomain) => ({
  id,
  name,
  status: DOMAIN_STATUSES[status],
  created_at,
  open_tracking: tracking.opens,
  click_tracking: tracking.clicks,
  capabilities: { sending: 'enabled', receiving: 'disabled' },
});

const serializeDomain = (domain: SerializedDomain) => ({
  ...serializeHead(domain),
  records: domain.records.map(({ purpose, type, name, value, status }) => ({
    record: RECORDS[purpose],
    type,
    name,
    value,
    ttl: 'Auto',
    status: status === 'pending' ? 'pending' : 'verified',
  })),
});

const TRACKING: FieldRules = {
  open_tracking: (value) => ({ fields: { tracking: { opens: value } } }),
  click_tracking: (value) => ({ fields: { tracking: { clicks: value } } }),
  tls: refusedUnless(
    (value) => value === 'opportunistic',
    'must be opportunistic: receivers can require TLS with MTA-STS or DANE',
  ),
  capabilities: refused('is not supported: every domain sends, and none receives'),
  tracking_subdomain: refused('is not supported: the records of the domain name its tracking host'),
};

const DOMAIN: FieldRules = {
  ...TRACKING,
  name: as('name'),
  region: refused('is not supported: mail is sent by this service, wherever it runs'),
  custom_return_path: refused('is not supported: the records of the domain name its return path'),
};

const DOMAIN_NAMES = { 'tracking.opens': 'open_tracking', 'tracking.clicks': 'click_tracking' };

const track = (route: RouteContext, call: Call<unknown, unknown>, id: string, tracking: unknown) =>
  perform<SerializedDomain>(route, call, 'PATCH /v1/domains/:id', { id, body: { tracking }, names: DOMAIN_NAMES });

const createResendDomainRoute = endpoint(
  'POST /compat/resend/domains',
  { summary: 'domains.create', body: z.unknown() },
  async (call, route) => {
    const fields = requireFields(call.body, DOMAIN);
    const { tracking, ...body } = fields;
    const domain = await perform<SerializedDomain>(route, call, 'POST /v1/domains', { body });
    return serializeDomain(tracking === undefined ? domain : await track(route, call, domain.id, tracking));
  },
);

const listResendDomainsRoute = endpoint(
  'GET /compat/resend/domains',
  { summary: 'domains.list', query: resendPage },
  async (call, route) => {
    const { data, has_more } = await pageAfter<SerializedDomain>(route, call, 'domains');
    return { object: 'list', has_more, data: data.map(serializeHead) };
  },
);

const getResendDomainRoute = endpoint(
  'GET /compat/resend/domains/:id',
  { summary: 'domains.get' },
  async (call, route) => ({
    object: 'domain',
    ...serializeDomain(await perform<SerializedDomain>(route, call, 'GET /v1/domains/:id', call)),
  }),
);

const updateResendDomainRoute = endpoint(
  'PATCH /compat/resend/domains/:id',
  { summary: 'domains.update', body: z.unknown() },
  async (call, route) => {
    const fields = requireFields(call.body, TRACKING);
    const { id } = await track(route, call, call.id, fields.tracking);
    return { object: 'domain', id };
  },
);

const verifyResendDomainRoute = endpoint(
  'POST /compat/resend/domains/:id/verify',
  { summary: 'domains.verify' },
  async (call, route) => {
    const { id } = await perform<SerializedDomain>(route, call, 'POST /v1/domains/:id/verify', { id: call.id });
    return { object: 'domain', id };
  },
);

const deleteResendDomainRoute = endpoint(
  'DELETE /compat/resend/domains/:id',
  { summary: 'domains.remove' },
  async (call, route) => {
    await perform(route, call, 'DELETE /v1/domains/:id', { id: call.id });
    return { object: 'domain', id: call.id, deleted: true };
  },
);

const PERMISSIONS: Readonly<Record<string, readonly string[]>> = {
  full_access: ['send', 'read', 'manage'],
  sending_access: ['send'],
};

const KEY: FieldRules = {
  name: as('name'),
  domain_id: as('domain_id'),
  permission: (value, path) =>
    typeof value === 'string' && Object.hasOwn(PERMISSIONS, value)
      ? { fields: { permissions: PERMISSIONS[value] } }
      : refused('must be full_access or sending_access')(value, path),
};

const createResendKeyRoute = endpoint(
  'POST /compat/resend/api-keys',
  { summary: 'apiKeys.create', body: z.unknown() },
  async (call, route) => {
    const fields = requireFields(call.body, KEY);
    const { id, key } = await perform<SerializedApiKey & { readonly key: string }>(route, call, 'POST /v1/api-keys', {
      body: { domain_id: call.caller.domain.id, permissions: PERMISSIONS.full_access, ...fields },
      names: { permissions: 'permission' },
    });
    return { id, token: key };
  },
);

const listResendKeysRoute = endpoint(
  'GET /compat/resend/api-keys',
  { summary: 'apiKeys.list', query: resendPage },
  async (call, route) => {
    const { data, has_more } = await pageAfter<SerializedApiKey>(route, call, 'api-keys');
    const shown = data.map(({ id, name, created_at, last_used_at }) => ({ id, name, created_at, last_used_at }));
    return { object: 'list', has_more, data: shown };
  },
);

const deleteResendKeyRoute = endpoint(
  'DELETE /compat/resend/api-keys/:id',
  { summary: 'apiKeys.remove' },
  async (call, route) => {
    await perform(route, call, 'DELETE /v1/api-keys/:id', { id: call.id });
    return { object: 'api_key', id: call.id, deleted: true };
  },
);

/** Reasons that a person or program gave, and takes back. A bounce or a complaint is not undone by a flag. */
const UNSUBSCRIBED = { reasons: ['unsubscribe', 'manual', 'import'], stream: 'bulk' } as const;
const NOT_STORED = 'is not supported: of a contact, only unsubscribed is stored';

const CHANGE: FieldRules = {
  unsubscribed: as('unsubscribed'),
  first_name: refused(NOT_STORED),
  last_name: refused(NOT_STORED),
  properties: refused(NOT_STORED),
};
const CONTACT: FieldRules = {
  ...CHANGE,
  email: as('email'),
  audienceId: ignored, // version 2 repeats it from the path
  segments: refused(NOT_STORED),
  topics: refused('is not supported: use POST /v1/topics/{id}/opt-ins'),
};

const notStored = (): DomainError =>
  new DomainError('not_found', 'contact not found: only contacts that are unsubscribed are stored');

const serializeContact = ({ id, created_at }: SerializedSuppression, email: string) => ({
  id,
  email,
  first_name: null,
  last_name: null,
  created_at,
  unsubscribed: true,
});

/** The contact that a path names by its id or address. @throws {DomainError} `not_found`. */
const loadContact = async (route: RouteContext, call: Call<unknown, unknown>) => {
  const found = call.id.includes('@')
    ? await findSuppressed(route, call, call.id, { address: 'email' })
    : await perform<SerializedSuppression>(route, call, 'GET /v1/suppressions/:id', { id: call.id });
  if (found === null || found.address === null || entryIn(found, UNSUBSCRIBED) === undefined) throw notStored();
  return { found, address: found.address };
};

/** @throws {DomainError} `invalid_request`. */
const unsubscribedIn = (rules: FieldRules, body: unknown) => {
  const { fields, problems } = takeFields(requireObject(body), rules);
  const { unsubscribed, email } = fields;
  const sentence = 'unsubscribed must be true or false: nothing else of a contact is stored';
  requireNone(typeof unsubscribed === 'boolean' ? problems : [...problems, ['unsubscribed', sentence]]);
  return { unsubscribed: unsubscribed === true, email };
};

/** Sets or clears the flag. @returns id of the suppression, or else the address. */
const setUnsubscribed = async (route: RouteContext, call: Call<unknown, unknown>, email: string, flag: boolean) => {
  if (flag) {
    const [one] = await suppress(route, call, { addresses: [email], scope: 'bulk' }, { addresses: 'email' });
    return one?.id ?? email;
  }
  await unsuppress(route, call, { address: email, names: { address: 'email' }, ...UNSUBSCRIBED });
  return email;
};

/** Older clients name an audience. Unsubscribing from it is unsubscribing from bulk mail: there is one list. */
type Contacts = '/contacts' | '/audiences/:audience/contacts';

const createContact = (contacts: Contacts) =>
  endpoint(`POST /compat/resend${contacts}`, { summary: 'contacts.create', body: z.unknown() }, async (call, route) => {
    const { unsubscribed, email } = unsubscribedIn(CONTACT, call.body);
    if (typeof email !== 'string') throw refuseField('email', 'is required, as text');
    return { object: 'contact', id: await setUnsubscribed(route, call, email, unsubscribed) };
  });

const getContact = (contacts: Contacts) =>
  endpoint(`GET /compat/resend${contacts}/:id`, { summary: 'contacts.get' }, async (call, route) => {
    const { found, address } = await loadContact(route, call);
    return { object: 'contact', ...serializeContact(found, address) };
  });

const updateContact = (contacts: Contacts) =>
  endpoint(
    `PATCH /compat/resend${contacts}/:id`,
    { summary: 'contacts.update', body: z.unknown() },
    async (call, route) => {
      const { unsubscribed } = unsubscribedIn(CHANGE, call.body);
      const email = call.id.includes('@') ? call.id : (await loadContact(route, call)).address;
      return { object: 'contact', id: await setUnsubscribed(route, call, email, unsubscribed) };
    },
  );

/** Forgets the flag, as everything else that is stored of a contact. */
const removeContact = (contacts: Contacts) =>
  endpoint(`DELETE /compat/resend${contacts}/:id`, { summary: 'contacts.remove' }, async (call, route) => {
    const { address } = await loadContact(route, call);
    await unsuppress(route, call, { address, names: { address: 'email' }, ...UNSUBSCRIBED });
    return { object: 'contact', contact: call.id, deleted: true };
  });

const createResendContactRoute = createContact('/contacts');
const createResendAudienceContactRoute = createContact('/audiences/:audience/contacts');
const getResendContactRoute = getContact('/contacts');
const getResendAudienceContactRoute = getContact('/audiences/:audience/contacts');
const updateResendContactRoute = updateContact('/contacts');
const updateResendAudienceContactRoute = updateContact('/audiences/:audience/contacts');
const removeResendContactRoute = removeContact('/contacts');
const removeResendAudienceContactRoute = removeContact('/audiences/:audience/contacts');

const listResendContactsRoute = endpoint(
  'GET /compat/resend/contacts',
  { summary: 'contacts.list', query: z.strictObject({ limit: resendPage.shape.limit }) },
  async (call, route) => {
    const { items, hasMore } = await listSuppressed(route, call, {
      offset: 0,
      limit: call.query.limit,
      ...UNSUBSCRIBED,
    });
    return {
      object: 'list',
      has_more: hasMore,
      data: items.map(({ found, address }) => serializeContact(found, address)),
    };
  },
);

/** All routes of this file, by the name of the operation. */
export const RESEND_ACCOUNT_ROUTES = {
  createResendDomainRoute,
  listResendDomainsRoute,
  getResendDomainRoute,
  updateResendDomainRoute,
  verifyResendDomainRoute,
  deleteResendDomainRoute,
  createResendKeyRoute,
  listResendKeysRoute,
  deleteResendKeyRoute,
  createResendContactRoute,
  createResendAudienceContactRoute,
  getResendContactRoute,
  getResendAudienceContactRoute,
  updateResendContactRoute,
  updateResendAudienceContactRoute,
  removeResendContactRoute,
  removeResendAudienceContactRoute,
  listResendContactsRoute,
};
