import { z } from 'zod';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { BOUNCE_TYPES } from './postmark-bounces.ts';
import { filtersOf, OFFSET_MAX, present, text } from './postmark-reads.ts';
import { listSuppressed } from './suppressions.ts';
import { perform, throughDay } from './translate.ts';

/** Statistics of the npm package `postmark`, by our own operation. Days are those of UTC. */

type Metrics = Readonly<Record<string, number>>;

interface Counts {
  readonly totals: Metrics;
  readonly data: readonly (Metrics & { readonly start: string })[];
}

const countsOf = (route: RouteContext, call: Call<unknown, unknown>, query: Readonly<Record<string, string>>) =>
  perform<Counts>(route, call, 'GET /v1/stats', {
    query: { ...query, timezone: 'UTC' },
    names: { from: 'fromDate', to: 'toDate' },
  });

const countOf = (counts: Metrics, metric: string): number => counts[metric] ?? 0;

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : (100 * part) / whole);

const period = z.strictObject({ tag: text, fromDate: text, toDate: text, messageStream: text });

/** @throws {DomainError} in their names. */
const countsIn = (route: RouteContext, call: Call<unknown, z.output<typeof period>>): Promise<Counts> => {
  const { tag, fromDate, toDate, messageStream } = call.query;
  const filters = {
    ...filtersOf({ tag, messageStream }),
    from: fromDate,
    to: throughDay(toDate),
  };
  return countsOf(route, call, present(filters));
};

const getPostmarkOverviewRoute = endpoint(
  'GET /compat/postmark/stats/outbound',
  { summary: 'getOutboundOverview', query: period },
  async (call, route) => {
    const { totals } = await countsIn(route, call);
    const [sent, bounced] = [countOf(totals, 'accepted'), countOf(totals, 'bounced')];
    const complained = countOf(totals, 'complained');
    return {
      Sent: sent,
      Bounced: bounced,
      SMTPApiErrors: 0,
      BounceRate: percent(bounced, sent),
      SpamComplaints: complained,
      SpamComplaintsRate: percent(complained, sent),
      Opens: countOf(totals, 'opens'),
      UniqueOpens: countOf(totals, 'opened'),
      TotalClicks: countOf(totals, 'clicks'),
      UniqueLinksClicked: countOf(totals, 'clicked'),
    };
  },
);

const DATE_CHARACTERS = '2026-01-31'.length;

/** Their counts, by our metrics. */
type Columns = Readonly<Record<string, string>>;

/** Counts of each day, and of all together. */
const byDay = async (
  route: RouteContext,
  call: Call<unknown, z.output<typeof period>>,
  columns: Columns,
): Promise<object> => {
  const { totals, data } = await countsIn(route, call);
  const shown = (counts: Metrics): Metrics =>
    Object.fromEntries(Object.entries(columns).map(([name, metric]) => [name, countOf(counts, metric)]));
  const Days = data.map((day) => ({ Date: day.start.slice(0, DATE_CHARACTERS), ...shown(day) }));
  return { Days, ...shown(totals) };
};

const getPostmarkSentCountsRoute = endpoint(
  'GET /compat/postmark/stats/outbound/sends',
  { summary: 'getSentCounts', query: period },
  (call, route) => byDay(route, call, { Sent: 'accepted' }),
);

const getPostmarkBounceCountsRoute = endpoint(
  'GET /compat/postmark/stats/outbound/bounces',
  { summary: 'getBounceCounts', query: period },
  (call, route) => byDay(route, call, { HardBounce: 'bounced', SoftBounce: 'expired' }),
);

const getPostmarkComplaintCountsRoute = endpoint(
  'GET /compat/postmark/stats/outbound/spam',
  { summary: 'getSpamComplaintsCounts', query: period },
  (call, route) => byDay(route, call, { SpamComplaint: 'complained' }),
);

const getPostmarkOpenCountsRoute = endpoint(
  'GET /compat/postmark/stats/outbound/opens',
  { summary: 'getEmailOpenCounts', query: period },
  (call, route) => byDay(route, call, { Opens: 'opens', Unique: 'opened' }),
);

const getPostmarkClickCountsRoute = endpoint(
  'GET /compat/postmark/stats/outbound/clicks',
  { summary: 'getClickCounts', query: period },
  (call, route) => byDay(route, call, { Clicks: 'clicks', Unique: 'clicked' }),
);

/** Longest period in which these counts are added up. A longer one is slower to read. */
const DAYS = 365;
const DAY_MS = 86_400_000;

const getPostmarkDeliveryRoute = endpoint(
  'GET /compat/postmark/deliveryStats',
  { summary: 'getDeliveryStatistics' },
  async (call, route) => {
    const from = new Date(route.deps.context.system.now().getTime() - DAYS * DAY_MS).toISOString();
    const { totals } = await countsOf(route, call, { from, granularity: 'month' });
    const { items } = await listSuppressed(route, call, { offset: 0, limit: OFFSET_MAX });
    const each = BOUNCE_TYPES.map(({ Name, Type, outcome }) => ({ Name, Type, Count: countOf(totals, outcome) }));
    const all = each.reduce((sum, { Count }) => sum + Count, 0);
    return { InactiveMails: items.length, Bounces: [{ Name: 'All', Count: all }, ...each] };
  },
);

/** All routes of this file, by the name of the operation. */
export const POSTMARK_STATISTICS_ROUTES = {
  getPostmarkOverviewRoute,
  getPostmarkSentCountsRoute,
  getPostmarkBounceCountsRoute,
  getPostmarkComplaintCountsRoute,
  getPostmarkOpenCountsRoute,
  getPostmarkClickCountsRoute,
  getPostmarkDeliveryRoute,
};
