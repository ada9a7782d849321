import { z } from 'zod';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { integerParameter } from '../fields.ts';
import type { SerializedDomain } from '../resources/domains/domain.ts';
import { domainIn, NO_BODY, sendMailgunMessageRoute } from './mailgun.ts';
import { MAILGUN_SUPPRESSION_ROUTES } from './mailgun-suppressions.ts';
import { pageByNumber, totalOf } from './suppressions.ts';
import { type List, type PathNames, perform, refuseField } from './translate.ts';

/** Events, statistics and domains of the npm package `mailgun.js`, by our own operations. */

const TEXT_CHARACTERS_MAX = 1_000;
const text = z.string().max(TEXT_CHARACTERS_MAX).optional();
const SECOND_MS = 1_000;

/** Our event about a message. */
interface MessageEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly message_id: string;
    readonly recipient: { readonly address: string | null };
    readonly tags: readonly { readonly name: string; readonly value: string }[];
    readonly metadata: Readonly<Record<string, string>>;
    readonly reason?: string;
    readonly attempt?: number;
    readonly smtp?: {
      readonly code: number;
      readonly enhanced: string | null;
      readonly text: string | null;
      readonly mx: string | null;
    };
    readonly url?: string | null;
    readonly client?: string;
  };
}

const PERMANENT = { event: 'failed', severity: 'permanent' } as const;

/** Their events by ours. */
const EVENTS: Readonly<Record<string, { readonly event: string; readonly severity?: string }>> = {
  'message.accepted': { event: 'accepted' },
  'message.delivered': { event: 'delivered' },
  'message.deferred': { event: 'failed', severity: 'temporary' },
  'message.bounced': PERMANENT,
  'message.expired': PERMANENT,
  'message.failed': PERMANENT,
  'message.suppressed': PERMANENT,
  'message.opened': { event: 'opened' },
  'message.clicked': { event: 'clicked' },
  'message.unsubscribed': { event: 'unsubscribed' },
  'message.complained': { event: 'complained' },
};

const EVENT_NAMES = [...new Set(Object.values(EVENTS).map(({ event }) => event))];

/** Our types of events that `failed OR opened` names. @throws {DomainError} `invalid_request`. */
const typesNamed = (asked: string | undefined): string => {
  const names = asked?.toLowerCase().split(' or ') ?? EVENT_NAMES;
  if (!names.every((name) => EVENT_NAMES.includes(name)))
    throw refuseField('event', `must be one of ${EVENT_NAMES.join(', ')}, or several with OR between them`);
  return Object.keys(EVENTS)
    .filter((type) => names.includes(EVENTS[type]?.event ?? ''))
    .join(',');
};

const NO_REPLY = { code: 0, enhanced: null, text: null, mx: null };

const statusOf = ({ smtp = NO_REPLY, attempt = 0, reason = '' }: MessageEvent['data']) => ({
  code: smtp.code,
  message: smtp.text ?? '',
  description: reason,
  'enhanced-code': smtp.enhanced ?? '',
  'mx-host': smtp.mx ?? '',
  'attempt-no': attempt,
});

/** Reply of the mail server, or the reason for the lack of one. */
const outcomeOf = (data: MessageEvent['data']) => ({
  ...(data.smtp === undefined && data.reason === undefined ? {} : { 'delivery-status': statusOf(data) }),
  ...(data.reason === undefined ? {} : { reason: data.reason }),
});

const engagementOf = ({ url, client }: MessageEvent['data']) => ({
  ...(typeof url === 'string' ? { url } : {}),
  ...(client === undefined ? {} : { 'client-info': { 'client-name': client } }),
});

const serializeEvent = ({ id, type, timestamp, data }: MessageEvent, domain: string) => ({
  id,
  ...EVENTS[type],
  timestamp: Date.parse(timestamp) / SECOND_MS,
  recipient: data.recipient.address ?? '',
  'recipient-domain': data.recipient.address?.split('@').at(-1) ?? '',
  tags: data.tags.map(({ value }) => value),
  'user-variables': data.metadata,
  message: { headers: { 'message-id': `${data.message_id}@${domain}` } },
  ...outcomeOf(data),
  ...engagementOf(data),
});

const PAGE_MAX = 100;
const LIMIT_MAX = 300;
const TOKEN_CHARACTERS_MAX = 2_000;

/** Page of the feed, which its address holds. */
const pageSchema = z.strictObject({
  after: z.string(),
  types: z.string(),
  tag: z.string().exactOptional(),
  message_id: z.string().exactOptional(),
});
type EventPage = z.output<typeof pageSchema>;
/** The page behind the newest event, which is empty. */
const END = 'end';

const tokenOf = (page: EventPage): string => Buffer.from(JSON.stringify(page)).toString('base64url');

/** @throws {DomainError} `invalid_request`. */
const pageOf = (token: string): EventPage => {
  try {
    return pageSchema.parse(JSON.parse(Buffer.from(token.slice(0, TOKEN_CHARACTERS_MAX), 'base64url').toString()));
  } catch {
    throw refuseField('page', 'must be that of paging.next');
  }
};

const NAMES: PathNames = { tag: 'tags', message_id: 'message-id', after: 'page' };
const LIMIT = integerParameter(1, LIMIT_MAX).default(PAGE_MAX);

/** @param page without `after`: the newest events. */
const readEvents = async (
  route: RouteContext,
  call: Call<unknown, { readonly limit: number }>,
  page: Omit<EventPage, 'after'> & { readonly after?: string },
) => {
  const { id, name } = await domainIn(call, route);
  const [path = ''] = call.request.url.split('?');
  const base = `${route.auth.publicUrl}${path.replace(/\/events.*/, '/events')}`;
  const { data, next_cursor } = await perform<List<MessageEvent>>(route, call, 'GET /v1/events', {
    query: { ...page, limit: String(Math.min(call.query.limit, PAGE_MAX)), domain_id: id },
    names: NAMES,
  });
  const items = data.map((event) => serializeEvent(event, name));
  const newer = `${base}/${tokenOf({ ...page, after: next_cursor ?? '' })}`;
  const first = `${base}/${tokenOf({ ...page, after: 'start' })}`;
  // The feed is read from its beginning to its end. Its newest page, the default, has none after it.
  return page.after === undefined
    ? { items: items.toReversed(), paging: { first, next: `${base}/${END}`, previous: newer, last: newer } }
    : { items, paging: { first, next: newer, previous: first, last: newer } };
};

const NO_TIMES = 'is not supported: read all events with ascending=yes, or with GET /v1/events';

const listMailgunEventsRoute = endpoint(
  'GET /compat/mailgun/v3/:domain/events',
  {
    summary: 'events.get',
    query: z.strictObject({
      limit: LIMIT,
      event: text,
      ascending: z.enum(['yes', 'no', 'true', 'false'], 'must be yes or no').default('no'),
      tags: text,
      'message-id': text,
      begin: text.refine((value) => value === undefined, NO_TIMES),
      end: text.refine((value) => value === undefined, NO_TIMES),
    }),
  },
  (call, route) => {
    const { event, tags, 'message-id': id, ascending } = call.query;
    const isAscending = ascending === 'yes' || ascending === 'true';
    return readEvents(route, call, {
      types: typesNamed(event),
      ...(tags === undefined ? {} : { tag: `tag:${tags}` }),
      ...(id === undefined ? {} : { message_id: id.replace(/^</, '').split('@', 1)[0] ?? '' }),
      ...(isAscending ? { after: 'start' } : {}),
    });
  },
);

const getMailgunEventsPageRoute = endpoint(
  'GET /compat/mailgun/v3/:domain/events/:id',
  // The client adds the filters of the first page to the address of the next, which holds them.
  { summary: 'events.get', query: z.looseObject({ limit: LIMIT }) },
  async (call, route) => {
    if (call.id !== END) return readEvents(route, call, pageOf(call.id));
    await domainIn(call, route);
    return { items: [], paging: {} };
  },
);

interface Stats {
  readonly from: string;
  readonly to: string;
  readonly data: readonly (Readonly<Record<string, number>> & { readonly start: string })[];
}

type Counts = Stats['data'][number];

const sumOf = (counts: Counts, ...names: readonly string[]): number =>
  names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);

/** Their counts by event. */
const COUNTS: Readonly<Record<string, (counts: Counts) => object>> = {
  accepted: (counts) => ({ incoming: 0, outgoing: sumOf(counts, 'accepted'), total: sumOf(counts, 'accepted') }),
  delivered: (counts) => ({ smtp: sumOf(counts, 'delivered'), http: 0, total: sumOf(counts, 'delivered') }),
  failed: (counts) => ({
    temporary: { total: sumOf(counts, 'deferred') },
    permanent: {
      bounce: sumOf(counts, 'bounced', 'expired', 'failed'),
      'suppress-bounce': sumOf(counts, 'suppressed'),
      total: sumOf(counts, 'bounced', 'expired', 'failed', 'suppressed'),
    },
  }),
  opened: (counts) => ({ total: sumOf(counts, 'opens'), unique: sumOf(counts, 'opened') }),
  clicked: (counts) => ({ total: sumOf(counts, 'clicks'), unique: sumOf(counts, 'clicked') }),
  unsubscribed: (counts) => ({ total: sumOf(counts, 'unsubscribed') }),
  complained: (counts) => ({ total: sumOf(counts, 'complained') }),
};

const HOUR_MS = 3_600_000;
const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, m: 720 };
const DURATION = /^(\d{1,4})([hdm])$/;
const SECONDS = /^\d{1,12}$/;
const WEEK_HOURS = 168;

/** A date as RFC 2822 writes it, or seconds since 1970. @throws {DomainError} `invalid_request`. */
const timeIn = (value: string | undefined, field: string): string | undefined => {
  if (value === undefined) return undefined;
  const at = new Date(SECONDS.test(value) ? Number(value) * SECOND_MS : value);
  if (Number.isNaN(at.getTime()))
    throw refuseField(field, 'must be a date such as Fri, 14 Oct 2026 12:00:00 +0000, or seconds since 1970');
  return at.toISOString();
};

/** @throws {DomainError} `invalid_request`. */
const hoursIn = (duration: string): number => {
  const [, count, unit = ''] = DURATION.exec(duration) ?? [];
  if (count === undefined) throw refuseField('duration', 'must be a number of hours, days or months: 24h, 7d, 1m');
  return Number(count) * (HOURS[unit] ?? 0);
};

interface AskedRange {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly duration?: string | undefined;
}

/** @throws {DomainError} `invalid_request`. */
const rangeOf = ({ start, end, duration }: AskedRange, now: Date): { readonly from: string; readonly to: string } => {
  const to = timeIn(end, 'end') ?? now.toISOString();
  const hours = duration === undefined ? WEEK_HOURS : hoursIn(duration);
  const before = new Date(Date.parse(to) - hours * HOUR_MS).toISOString();
  return { from: duration === undefined ? (timeIn(start, 'start') ?? before) : before, to };
};

const STATS_NAMES: PathNames = { from: 'start', to: 'end', granularity: 'resolution' };
const EVENTS_MAX = 20;

const getMailgunStatsRoute = endpoint(
  'GET /compat/mailgun/v3/:domain/stats/total',
  {
    summary: 'stats.getDomain',
    query: z.strictObject({
      event: z.union([z.string().max(TEXT_CHARACTERS_MAX), z.array(z.string()).max(EVENTS_MAX)]),
      start: text,
      end: text,
      resolution: z.enum(['hour', 'day', 'month']).default('day'),
      duration: text,
    }),
  },
  async (call, route) => {
    const { event, resolution, ...range } = call.query;
    const names = [event].flat();
    const unknown = names.find((name) => !Object.hasOwn(COUNTS, name));
    if (unknown !== undefined) throw refuseField('event', `must be one of ${Object.keys(COUNTS).join(', ')}`);
    const { id } = await domainIn(call, route);
    const stats = await perform<Stats>(route, call, 'GET /v1/stats', {
      query: {
        ...rangeOf(range, route.deps.context.system.now()),
        granularity: resolution,
        timezone: 'UTC',
        attribution: 'event',
        domain: id,
      },
      names: STATS_NAMES,
    });
    return {
      start: new Date(stats.from).toUTCString(),
      end: new Date(stats.to).toUTCString(),
      resolution,
      stats: stats.data.map((counts) => ({
        time: new Date(counts.start).toUTCString(),
        ...Object.fromEntries(names.map((name) => [name, COUNTS[name]?.(counts)])),
      })),
    };
  },
);

const serializeHead = ({ id, name, status, created_at }: SerializedDomain) => ({
  id,
  name,
  state: status === 'verified' || status === 'degraded' ? 'active' : 'unverified',
  type: 'custom',
  created_at: new Date(created_at).toUTCString(),
  is_disabled: false,
  smtp_login: 'outbox',
  wildcard: false,
  spam_action: 'disabled',
});

const serializeDomain = (domain: SerializedDomain) => ({
  domain: serializeHead(domain),
  receiving_dns_records: [],
  sending_dns_records: domain.records.map(({ type, name, value, state }) => ({
    record_type: type,
    name,
    value,
    valid: state === 'valid' ? 'valid' : 'unknown',
    is_active: state === 'valid',
    cached: [],
  })),
});

const DOMAINS_MAX = 1_000;

const listDomains = (version: 'v3' | 'v4') =>
  endpoint(
    `GET /compat/mailgun/${version}/domains`,
    {
      summary: 'domains.list',
      query: z.strictObject({
        limit: integerParameter(1, DOMAINS_MAX).default(PAGE_MAX),
        skip: integerParameter(0, DOMAINS_MAX).default(0),
      }),
    },
    async (call, route) => {
      const { limit, skip } = call.query;
      const found = await pageByNumber(
        (query) => perform<List<SerializedDomain>>(route, call, 'GET /v1/domains', { query }),
        { offset: skip, limit, instead: 'GET /v1/domains' },
        (domain) => [serializeHead(domain)],
      );
      return { total_count: totalOf(skip, found), items: found.items };
    },
  );

const getDomain = (version: 'v3' | 'v4') =>
  endpoint(
    `GET /compat/mailgun/${version}/domains/:domain`,
    { summary: 'domains.get', query: z.strictObject({ 'h:extended': text, 'h:with_dns': text }) },
    async (call, route) => {
      const { id } = await domainIn(call, route);
      return serializeDomain(await perform<SerializedDomain>(route, call, 'GET /v1/domains/:id', { id }));
    },
  );

const verifyDomain = (version: 'v3' | 'v4') =>
  endpoint(
    `PUT /compat/mailgun/${version}/domains/:domain/verify`,
    { summary: 'domains.verify', bounds: NO_BODY },
    async (call, route) => {
      const { id } = await domainIn(call, route);
      return serializeDomain(await perform<SerializedDomain>(route, call, 'POST /v1/domains/:id/verify', { id }));
    },
  );

/** All routes for its client, by the name of the operation. */
export const MAILGUN_ROUTES = {
  sendMailgunMessageRoute,
  ...MAILGUN_SUPPRESSION_ROUTES,
  listMailgunEventsRoute,
  getMailgunEventsPageRoute,
  getMailgunStatsRoute,
  listMailgunDomainsRoute: listDomains('v4'),
  listMailgunDomainsV3Route: listDomains('v3'),
  getMailgunDomainRoute: getDomain('v4'),
  getMailgunDomainV3Route: getDomain('v3'),
  verifyMailgunDomainRoute: verifyDomain('v4'),
  verifyMailgunDomainV3Route: verifyDomain('v3'),
};
