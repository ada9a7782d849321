import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { SuppressionReason } from '../../domain/suppression/events.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { integerParameter } from '../fields.ts';
import type { SerializedSuppression } from '../resources/suppressions/add-suppressions.ts';
import { entryIn, findSuppressed, listSuppressed, suppress, unsuppress } from './suppressions.ts';
import { type PathNames, perform, refuseField, requireList, requireObject, throughDay } from './translate.ts';

/** Suppressions and statistics of the npm package `@sendgrid/client`, by our own operations. */

type Entry = SerializedSuppression['entries'][number];

const MS_PER_SECOND = 1_000;
/** Within the years of four digits. */
const SECONDS_MAX = 253_402_300_799;
const LIMIT_MAX = 500;
const OFFSET_MAX = 10_000;
const TEXT_MAX = 1_000;

const seconds = (iso: string): number => Math.floor(Date.parse(iso) / MS_PER_SECOND);
const isoOf = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at * MS_PER_SECOND).toISOString();

const bounceOf = (email: string, { added_at, evidence }: Entry) => ({
  created: seconds(added_at),
  email,
  reason: evidence ?? '',
  status: /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(evidence ?? '')?.[0] ?? '',
});
const plainOf = (email: string, { added_at }: Entry) => ({ created: seconds(added_at), email });

interface SuppressionList {
  readonly reasons: readonly SuppressionReason[];
  readonly serialize: (email: string, entry: Entry) => object;
}

const UNSUBSCRIBES = { reasons: ['unsubscribe', 'manual', 'import'] } as const;

/** A block and an invalid address suppress nothing here, so these lists are empty. */
const LISTS: Readonly<Record<string, SuppressionList>> = {
  bounces: { reasons: ['bounce'], serialize: bounceOf },
  spam_reports: { reasons: ['complaint'], serialize: plainOf },
  unsubscribes: { ...UNSUBSCRIBES, serialize: plainOf },
  blocks: { reasons: [], serialize: bounceOf },
  invalid_emails: { reasons: [], serialize: bounceOf },
};

/** @throws {DomainError} `not_found`. */
const listNamed = ({ request }: Call<unknown, unknown>): SuppressionList => {
  const { list } = request.params as { readonly list: string };
  const found = Object.hasOwn(LISTS, list) ? LISTS[list] : undefined;
  if (found !== undefined) return found;
  throw new DomainError('not_found', `no such list of suppressions: use ${Object.keys(LISTS).join(', ')}`);
};

const NAMES: PathNames = { address: 'email' };

/** Items of an address on a list: one or none. */
const itemsOf = async (route: RouteContext, call: Call<unknown, unknown>, email: string, list: SuppressionList) => {
  const found = await findSuppressed(route, call, email, NAMES);
  const entry = found === null ? undefined : entryIn(found, list);
  return entry === undefined ? [] : [list.serialize(found?.address ?? email, entry)];
};

const time = z
  .string()
  .refine((text) => /^\d{1,12}$/.test(text) && Number(text) <= SECONDS_MAX, 'must be a number of seconds since 1970')
  .transform(Number)
  .optional();

const listSendgridSuppressionsRoute = endpoint(
  'GET /compat/sendgrid/v3/suppression/:list',
  {
    summary: 'GET /v3/suppression/{list}',
    query: z.strictObject({
      start_time: time,
      end_time: time,
      limit: integerParameter(1, LIMIT_MAX).default(LIMIT_MAX),
      offset: integerParameter(0, OFFSET_MAX).default(0),
      email: z.string().max(TEXT_MAX).optional(),
    }),
  },
  async (call, route) => {
    const list = listNamed(call);
    const { start_time, end_time, limit, offset, email } = call.query;
    if (list.reasons.length === 0) return [];
    if (email !== undefined) return itemsOf(route, call, email, list);
    const { items } = await listSuppressed(route, call, {
      offset,
      limit,
      reasons: list.reasons,
      since: isoOf(start_time),
      until: isoOf(end_time),
    });
    return items.map(({ address, entry }) => list.serialize(address, entry));
  },
);

const getSendgridSuppressionRoute = endpoint(
  'GET /compat/sendgrid/v3/suppression/:list/:id',
  { summary: 'GET /v3/suppression/{list}/{email}' },
  (call, route) => itemsOf(route, call, call.id, listNamed(call)),
);

const notOnList = (): DomainError => new DomainError('not_found', 'email is not on this list');

const deleteSendgridSuppressionRoute = endpoint(
  'DELETE /compat/sendgrid/v3/suppression/:list/:id',
  { summary: 'DELETE /v3/suppression/{list}/{email}' },
  async (call, route) => {
    const list = listNamed(call);
    if ((await itemsOf(route, call, call.id, list)).length === 0) throw notOnList();
    await unsuppress(route, call, { address: call.id, reasons: list.reasons, names: NAMES });
  },
);

/** Each is an event of its own. Higher: one request lasts longer than its client waits. Lower: more requests. */
const DELETED_MAX = 500;
const DELETE_DEADLINE_MS = 60_000;

/** Addresses that a body names: some, or all of a list that nothing else suppresses. @throws {DomainError} `invalid_request`. */
const addressesIn = async (route: RouteContext, call: Call<unknown, unknown>, list: SuppressionList) => {
  const { delete_all, emails, ...others } = requireObject(call.body);
  const [other] = Object.keys(others);
  if (other !== undefined) throw refuseField(other, 'is not a known field');
  if (delete_all !== true) {
    const addresses = requireList(emails, 'emails', DELETED_MAX);
    if (addresses.every((one) => typeof one === 'string')) return addresses;
    throw refuseField('emails', 'must be an array of text');
  }
  if (emails !== undefined) throw refuseField('emails', 'is not allowed together with delete_all');
  const { items } = await listSuppressed(route, call, {
    offset: 0,
    limit: DELETED_MAX,
    removable: true,
    reasons: list.reasons,
  });
  return items.map(({ address }) => address);
};

const emptySendgridSuppressionsRoute = endpoint(
  'DELETE /compat/sendgrid/v3/suppression/:list',
  { summary: 'DELETE /v3/suppression/{list}', body: z.unknown(), deadlineMs: DELETE_DEADLINE_MS },
  async (call, route) => {
    const list = listNamed(call);
    if (list.reasons.length === 0) return;
    for (const address of await addressesIn(route, call, list))
      await unsuppress(route, call, { address, reasons: list.reasons, names: { address: 'emails' } });
  },
);

/** Our own operation accepts no more at once. */
const EMAILS_MAX = 1_000;

const suppressSendgridGloballyRoute = endpoint(
  'POST /compat/sendgrid/v3/asm/suppressions/global',
  { summary: 'POST /v3/asm/suppressions/global', body: z.unknown() },
  async (call, route) => {
    const { recipient_emails } = requireObject(call.body);
    const addresses = requireList(recipient_emails, 'recipient_emails', EMAILS_MAX);
    const names: PathNames = { addresses: 'recipient_emails', 'addresses[]': 'recipient_emails[]' };
    await suppress(route, call, { addresses, scope: 'all' }, names);
    return { recipient_emails: addresses };
  },
);

const getSendgridGlobalRoute = endpoint(
  'GET /compat/sendgrid/v3/asm/suppressions/global/:id',
  { summary: 'GET /v3/asm/suppressions/global/{email}' },
  async (call, route) => {
    const found = await findSuppressed(route, call, call.id, NAMES);
    return found !== null && entryIn(found, UNSUBSCRIBES) !== undefined ? { recipient_email: found.address } : {};
  },
);

const deleteSendgridGlobalRoute = endpoint(
  'DELETE /compat/sendgrid/v3/asm/suppressions/global/:id',
  { summary: 'DELETE /v3/asm/suppressions/global/{email}' },
  async (call, route) => {
    await unsuppress(route, call, { address: call.id, names: NAMES, ...UNSUBSCRIBES });
  },
);

interface Stats {
  readonly data: readonly (Readonly<Record<string, number>> & { readonly start: string })[];
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const date = z.string().refine((text) => DATE.test(text), 'must be a date such as 2026-01-31');

const STATS_NAMES: PathNames = { from: 'start_date', to: 'end_date', granularity: 'aggregated_by', tag: 'categories' };

/** Their metrics that count something here. */
const metricsOf = (counts: Readonly<Record<string, number>>) => ({
  requests: counts.accepted,
  processed: counts.accepted,
  delivered: counts.delivered,
  deferred: counts.deferred,
  bounces: counts.bounced,
  bounce_drops: counts.suppressed,
  opens: counts.opens,
  unique_opens: counts.opened,
  clicks: counts.clicks,
  unique_clicks: counts.clicked,
  spam_reports: counts.complained,
  unsubscribes: counts.unsubscribed,
});

const statsPeriod = {
  start_date: date,
  end_date: date.optional(),
  aggregated_by: z.enum(['day', 'week', 'month']).default('day'),
};

/** Metrics of each day, week or month. @param filters of our own operation. */
const statsOf = async (
  route: RouteContext,
  call: Call<unknown, z.output<z.ZodObject<typeof statsPeriod>>>,
  filters: Readonly<Record<string, string>> = {},
) => {
  const { start_date: from, end_date, aggregated_by: granularity } = call.query;
  const to = throughDay(end_date);
  const { data } = await perform<Stats>(route, call, 'GET /v1/stats', {
    query: {
      from,
      granularity,
      timezone: 'UTC',
      attribution: 'event',
      ...(to === undefined ? {} : { to }),
      ...filters,
    },
    names: STATS_NAMES,
  });
  return data.map(({ start, ...counts }) => ({ date: start.slice(0, from.length), metrics: metricsOf(counts) }));
};

const getSendgridStatsRoute = endpoint(
  'GET /compat/sendgrid/v3/stats',
  { summary: 'GET /v3/stats', query: z.strictObject(statsPeriod) },
  async (call, route) =>
    (await statsOf(route, call)).map(({ date: day, metrics }) => ({ date: day, stats: [{ metrics }] })),
);

/** Their own maximum. Each is a query. */
const CATEGORIES_MAX = 10;
const category = z.string().min(1).max(TEXT_MAX);

const getSendgridCategoryStatsRoute = endpoint(
  'GET /compat/sendgrid/v3/categories/stats',
  {
    summary: 'GET /v3/categories/stats',
    query: z.strictObject({ ...statsPeriod, categories: z.union([category, z.array(category).max(CATEGORIES_MAX)]) }),
  },
  async (call, route) => {
    const days = new Map<string, object[]>();
    for (const name of new Set([call.query.categories].flat()))
      for (const { date: day, metrics } of await statsOf(route, call, { tag: `category:${name}` }))
        days.set(day, [...(days.get(day) ?? []), { type: 'category', name, metrics }]);
    return [...days].map(([day, stats]) => ({ date: day, stats }));
  },
);

/** All routes of this file, by the name of the operation. */
export const SENDGRID_READ_ROUTES = {
  listSendgridSuppressionsRoute,
  getSendgridSuppressionRoute,
  deleteSendgridSuppressionRoute,
  emptySendgridSuppressionsRoute,
  suppressSendgridGloballyRoute,
  getSendgridGlobalRoute,
  deleteSendgridGlobalRoute,
  getSendgridStatsRoute,
  getSendgridCategoryStatsRoute,
};
