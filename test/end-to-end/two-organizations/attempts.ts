import { expect } from 'vitest';
import type { Answer, AnyBody, ApiClient } from '../../support/api-client.ts';
import { refusalsOf } from './refusals.ts';
import { messageFrom, searchesFor, type Tenant, type TenantKey } from './tenant.ts';

/** A request that names a resource of another organization, and its required response. */
export interface Attempt {
  /** Value for `{id}` in the path, if ids have no prefix. */
  readonly id?: string;
  readonly query?: string;
  readonly body?: object;
  /** The status and code of the error. Absent: a success that reveals no data of the other organization. */
  readonly refused?: readonly [status: number, code: string];
  /** Keys bound to a domain get 403 `permission_missing`. */
  readonly ofOtherDomain?: true;
  /** The request searches for its targets, so keys without `read` are rejected with the missing permission. */
  readonly finds?: boolean;
  /** Ids in the request that the response lists with their outcomes. */
  readonly repeats?: readonly string[];
  /** Additional assertions for a success. */
  check?(body: AnyBody): void;
}

/** A valid body for each operation whose path names a resource. */
export const BODIES: Readonly<Record<string, object>> = {
  rescheduleMessage: { scheduled_at: new Date(Date.now() + 7_200_000).toISOString() },
  updateKey: { name: 'Mine now', permissions: ['read'] },
  updateTopic: { name: 'Mine now' },
  updateInboundRoute: { match: '*', action: 'refuse' },
  optIn: { addresses: ['mallory@example.net'] },
  updateWebhook: { enabled: false },
  replayWebhook: { after: 'start' },
  updateDomain: { branding: { name: 'Mine now' } },
  rotateKey: { grace_period_minutes: 0, revoke_previous: true },
  changeTemplate: { name: 'Mine now' },
  rollBackTemplate: { version: 1 },
  testSendTemplate: { to: 'mallory@example.net' },
};

const OWN_ALONE = ['choosePlan', 'updateOrganization', 'setLegalHold', 'pauseBulkMail'];
const isEmpty = ({ data }: AnyBody): void => expect(data).toEqual([]);
const counted = ({ totals }: AnyBody): void => expect(totals.accepted).toBe(0);

/** Cursors at the first and last entry of the other organization's list. */
const cursorsOf = async (victim: Tenant, path: string): Promise<readonly Attempt[]> => {
  const cursors = [victim.live, victim.test].map(async (api: ApiClient) => {
    const { status, body } = await api.get(`${path}?limit=1`);
    return status === 200 ? body.next_cursor : null;
  });
  const found = (await Promise.all(cursors)).filter((cursor) => cursor !== null);
  expect([path, found.length > 0]).toEqual([path, true]);
  return found.map((cursor) => ({ query: `?limit=100&after=${cursor}` }));
};

const capturedMailOf = async (victim: Tenant): Promise<readonly Attempt[]> => {
  const { body } = await victim.live.get('/v1/inbox');
  expect(body.data.length).toBeGreaterThan(0);
  return body.data.map(({ id }: AnyBody) => ({ id, refused: [404, 'not_found'] as const }));
};

const eventsOf = async (victim: Tenant): Promise<readonly Attempt[]> => {
  const { body } = await victim.live.get('/v1/audit/log?type=MessageAccepted&limit=2');
  const { body: feed } = await victim.live.get('/v1/events?limit=2');
  const ids = [...body.data.map(({ event_id }: AnyBody) => event_id), ...feed.data.map(({ id }: AnyBody) => id)];
  expect(ids).toHaveLength(4);
  return ids.map((id) => ({ id, refused: [404, 'not_found'] as const }));
};

const sendings = ({ domain, second }: Tenant): readonly object[] =>
  [domain, second].map(({ name }) => messageFrom(name));
const MISMATCH = [403, 'from_domain_mismatch'] as const;

type Maker = (victim: Tenant) => readonly Attempt[] | Promise<readonly Attempt[]>;

/** Attempts to reach another organization's data, for each operation whose path names no resource. */
export const ATTEMPTS: Readonly<Record<string, Maker>> = {
  sendMessage: (victim) => sendings(victim).map((body) => ({ body, refused: MISMATCH })),
  analyzeMessage: (victim) => sendings(victim).map((body) => ({ body, refused: MISMATCH })),
  sendBatch: (victim) => [
    { body: { messages: sendings(victim) }, refused: MISMATCH },
    {
      body: { messages: sendings(victim), mode: 'partial' },
      check: ({ accepted, data }) => {
        expect([accepted, data.map(({ http_status }: AnyBody) => http_status)]).toEqual([0, [403, 403]]);
      },
    },
  ],
  cancelMessages: async (victim) => {
    const lists = [victim.live, victim.test].map((api: ApiClient) => api.get('/v1/messages?limit=100'));
    const ids = (await Promise.all(lists)).flatMap(({ body }) => body.data.map(({ id }: AnyBody) => id));
    const domains = [victim.domain, victim.second].map(({ id }) => ({ filter: { domain_id: id } }));
    return [{ ids }, ...domains].map((body) => ({
      body,
      finds: 'filter' in body,
      repeats: ids,
      check: ({ cancelled, data }) => {
        expect(cancelled).toBe(0);
        for (const { error } of data) expect(error.code).toBe('other_organization');
      },
    }));
  },
  resendMessages: async (victim) => {
    const lists = [victim.live, victim.test].map((api: ApiClient) => api.get('/v1/messages?limit=50'));
    const ids = (await Promise.all(lists)).flatMap(({ body }) => body.data.map(({ id }: AnyBody) => id));
    return [
      {
        body: { ids },
        repeats: ids,
        check: ({ sent, data }) => {
          expect(sent).toBe(0);
          for (const { error } of data) expect(error.code).toBe('other_organization');
        },
      },
    ];
  },
  listMessages: async (victim) => [
    ...[victim.domain, victim.second].map(({ id }) => ({ query: `?domain_id=${id}`, check: isEmpty })),
    { query: `?from=shop@${victim.domain.name}`, check: isEmpty },
    ...['', '&at=leaf:3', `&at=${new Date().toISOString()}`].map((at) => ({
      query: `?to=customer@example.net&limit=100${at}`,
    })),
    ...(await cursorsOf(victim, '/v1/messages')),
  ],
  search: searchesFor,
  createKey: (victim) =>
    [victim.domain, victim.second].flatMap(({ id }) =>
      (['test', undefined] as const).map((environment) => ({
        body: { name: 'Mine now', domain_id: id, permissions: ['send'], ...(environment ? { environment } : {}) },
        refused: [403, 'other_organization'] as const,
      })),
    ),
  listKeys: (victim) => cursorsOf(victim, '/v1/api-keys'),
  registerDomain: (victim) =>
    [victim.domain, victim.second].map(({ name }) => ({
      body: { name },
      refused: [409, 'domain_already_exists'] as const,
    })),
  listDomains: (victim) => cursorsOf(victim, '/v1/domains'),
  createTopic: (victim) =>
    [victim.domain, victim.second].map(({ id }) => ({
      body: { name: 'Mine now', default: 'in', domain_id: id },
      refused: [403, 'other_organization'] as const,
    })),
  createInboundRoute: (victim) =>
    [victim.domain, victim.second].map(({ id }) => ({
      body: { domain_id: id, match: '*', action: 'refuse' },
      refused: [403, 'other_organization'] as const,
    })),
  listInboundRoutes: () => [{ query: '?limit=100' }],
  testInbound: (victim) =>
    [victim.domain, victim.second].map(({ name }) => ({
      body: { raw: 'Subject: Mine now\r\n\r\nx', to: `support@${name}` },
      refused: [400, 'invalid_request'] as const,
    })),
  listInbound: (victim) => [
    { query: '?limit=100' },
    { query: `?domain_id=${victim.domain.id}`, check: isEmpty },
    { query: `?to=support@${victim.domain.name}`, check: isEmpty },
  ],
  listTopics: () => [{ query: '?limit=100' }],
  // Aliases are unique within an organization only.
  createTemplate: () => [],
  listTemplates: (victim) => cursorsOf(victim, '/v1/templates'),
  registerWebhook: (victim) =>
    [victim.domain, victim.second].map(({ id }) => ({
      body: { url: 'http://127.0.0.1:9/', events: ['message.*'], filters: { domain_ids: [id] } },
      refused: [403, 'other_organization'] as const,
    })),
  listWebhooks: () => [{}],
  // Both suppress this address: each reads and changes only its own list.
  addSuppressions: () => [{ body: { address: 'nobody@example.net', expires_at: null } }],
  importSuppressions: () => [{ body: { csv: 'address\nnobody@example.net\n' } }],
  listSuppressions: async (victim) => [
    ...['', `&at=${new Date().toISOString()}`].map((at) => ({ query: `?limit=100${at}` })),
    { query: '?address=nobody@example.net' },
    ...(await cursorsOf(victim, '/v1/suppressions')),
  ],
  checkSuppression: () => [{ query: '?address=nobody@example.net' }],
  exportSuppressions: () => [{}],
  readEvents: async (victim) => [{ query: '?limit=100' }, ...(await cursorsOf(victim, '/v1/events'))],
  getStats: ({ domain, second, ids }) => [
    ...[domain, second].map(({ id }) => ({ query: `?domain=${id}`, ofOtherDomain: true, check: counted }) as const),
    ...(ids.key ?? []).map((id) => ({ query: `?api_key=${id}`, check: counted })),
    ...['domain', 'api_key'].map((dimension) => ({ query: `?group_by=${dimension}` })),
  ],
  getBacklog: () => [{}],
  getAccessReview: () => [{}],
  getBilling: () => [{}],
  getUsage: () => [{}],
  listPlans: () => [{}],
  listOperations: () => [{}],
  listInvoices: () => [{ check: isEmpty }],
  // These act on the caller's organization: no parameter can name another.
  ...Object.fromEntries(OWN_ALONE.map((operation) => [operation, () => []])),
  // Destinations are the same for every organization. The list names none of its recipients.
  listDestinations: () => [{ query: '?limit=100', check: isEmpty }],
  releaseDestination: () => [
    { body: { destination: 'example.net' }, check: ({ released }) => expect(released).toBe(false) },
  ],
  // Each organization erases its own data, which would change during the other's reads.
  requestErasure: () => [],
  previewErasure: () => [
    {
      body: { address: 'nobody.else@example.net' },
      check: ({ would_remove }) => expect(would_remove.messages).toBe(0),
    },
  ],
  listErasures: () => [{ query: '?limit=100' }],
  listAuditLog: ({ domain, ids }) => [
    ...[{ query: '?limit=100' }, { query: `?domain_id=${domain.id}`, check: isEmpty }],
    ...(ids.key ?? []).map((id) => ({ query: `?key_id=${id}`, check: isEmpty })),
    ...(ids.msg ?? []).map((id) => ({ query: `?message_id=${id}`, check: isEmpty })),
  ],
  listCheckpoints: () => [{ query: '?limit=100' }],
  // These act on the caller's tree: no parameter can name another.
  createCheckpoint: () => [],
  getConsistencyProof: () => [],
  exportAuditLog: () => [],
  addAuditor: () => [],
  listAuditors: () => [{}],
  getAuditProof: (victim) => eventsOf(victim),
  getDisclosure: (victim) => eventsOf(victim),
  // These act on the caller and on members of its organization: no parameter can name another.
  getSession: () => [{}],
  signOut: () => [{}],
  inviteMember: () => [],
  listMembers: () => [{ check: isEmpty }],
  listMemberSessions: () => [{ check: isEmpty }],
  listRefusedRequests: async (victim) => [
    ...(victim.ids.key ?? []).map((id) => ({ query: `?key_id=${id}`, check: isEmpty })),
    ...((await refusalsOf(victim)) && (await cursorsOf(victim, '/v1/requests'))).map(({ query }) => ({
      query: `${query}&key_id=${victim.ids.key?.[0]}`,
      check: isEmpty,
    })),
  ],
  countRefusedRequests: (victim) =>
    (victim.ids.key ?? []).map((id) => ({
      query: `?key_id=${id}`,
      check: ({ total }: AnyBody) => expect(total).toBe(0),
    })),
  getRefusedRequest: async (victim) =>
    (await refusalsOf(victim)).map((id) => ({ id, refused: [404, 'not_found'] as const })),
  listInbox: async (victim) => [{ query: '?limit=100' }, ...(await cursorsOf(victim, '/v1/inbox'))],
  getCapturedMail: capturedMailOf,
  getRawCapturedMail: capturedMailOf,
  getCapturedAttachment: capturedMailOf,
  deleteCapturedMail: capturedMailOf,
  deleteInbox: (victim) => [{ query: `?to=nobody@${victim.domain.name}` }],
  getOrganization: () => [{}],
  getSubmission: () => [{}],
  getOrganizationReputation: () => [{}],
  releaseOrganizationSending: () => [{ check: ({ released }) => expect(released).toBe(false) }],
};

/** Every text that would reveal that a response is about this organization. */
const tracesOf = ({ organizationId, domain, second, ids, neighboursMessage }: Tenant): readonly string[] => [
  ...[organizationId, domain.name, second.name, neighboursMessage],
  ...Object.values(ids).flat(),
];

const refusalOf = ({ refused, finds, ofOtherDomain }: Attempt, { permissions }: TenantKey): Attempt['refused'] => {
  if (finds === true && !permissions.includes('read') && !permissions.includes('admin'))
    return [403, 'permission_missing'];
  const isNarrow = !permissions.includes('manage') && !permissions.includes('admin');
  return ofOtherDomain === true && isNarrow ? [403, 'permission_missing'] : refused;
};

/** Asserts the response that the attempt requires. A success must contain no trace of the other organization. */
export const expectHarmless = (
  { status, body }: Answer<AnyBody>,
  { attempt, key, victim }: { readonly attempt: Attempt; readonly key: TenantKey; readonly victim: Tenant },
): void => {
  const refused = refusalOf(attempt, key);
  if (refused !== undefined) {
    expect([status, body.error?.code]).toEqual(refused);
    return;
  }
  expect(status).toBeLessThan(300);
  const text = JSON.stringify(body) ?? '';
  for (const trace of tracesOf(victim))
    if (attempt.repeats?.includes(trace) !== true) expect(text).not.toContain(trace);
  attempt.check?.(body);
};
