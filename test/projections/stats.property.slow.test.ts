import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LOG_START, type RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import {
  STATS_ATTRIBUTIONS,
  STATS_DIMENSIONS,
  STATS_GRANULARITIES,
  STATS_METRICS,
  type StatsMetric,
} from '../../src/projections/stats/metrics.ts';
import { statsProjection } from '../../src/projections/stats/projection.ts';
import { areKept, type QueryStats, queryStats } from '../../src/projections/stats/queries.ts';
import { recipient } from '../support/controls/message.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS, laterTypes } from './support/message-events.ts';
import { DAY, send } from './support/stats.ts';
import { has, type RecountedStats, recount, summed } from './support/stats-recount.ts';

/** Takes some seconds in all. A failure prints its seed. */
const RUNS = 5;
const QUERIES = 30;
/** The month from here contains the change of clocks in Europe, and the American one a week later. */
const FROM_MS = Date.parse('2026-10-20T00:00:00.000Z');
const MINUTES = 60 * 24 * 30;
const PLACES = ['a.example', 'b.example', 'gmail.com', 'googlemail.com', 'yahoo.com'];
const time = (minute: number): string => new Date(FROM_MS + minute * 60_000).toISOString();

const messages = fc.array(
  fc.record({
    minute: fc.nat(MINUTES),
    environment: fc.constantFrom('live', 'live', 'test'),
    stream: fc.constantFrom('transactional', 'bulk'),
    domainId: fc.constantFrom('dom_1', 'dom_2'),
    keyId: fc.constantFrom('key_1', 'key_2'),
    template: fc.constantFrom(undefined, { templateId: 'tpl_1', version: 1 }, { templateId: 'tpl_1', version: 2 }),
    tagDigests: fc.array(fc.constantFrom('tag-1', 'tag-2', 'tag-3'), { maxLength: 3 }),
    places: fc.array(fc.constantFrom(...PLACES), { minLength: 1, maxLength: 4 }),
    trial: fc.constantFrom(undefined, undefined, undefined, true as const),
    later: fc.array(
      fc.record({
        type: fc.constantFrom(...laterTypes),
        // Often immediate, sometimes days later.
        wait: fc.oneof(fc.nat(5), fc.nat(60 * 24 * 5)),
        who: fc.nat(3),
        category: fc.constantFrom(undefined, 'mailbox_full', 'no_mailbox'),
        machine: fc.constantFrom(undefined, undefined, 'scanner'),
      }),
      { maxLength: 6 },
    ),
  }),
  { minLength: 1, maxLength: 9 },
);
type SentMail = (typeof messages extends fc.Arbitrary<readonly (infer One)[]> ? One : never) & { readonly id: string };

const FILTERS = {
  domain: ['dom_1'],
  stream: ['bulk'],
  api_key: ['key_2'],
  template: ['tpl_1'],
  template_version: ['1', '2'],
  recipient_domain: PLACES,
  mailbox_provider: ['gmail', 'other'],
  bounce_class: ['mailbox_full', 'unknown'],
  tag: ['tag-1', 'tag-2'],
} satisfies Readonly<Record<keyof QueryStats['where'], readonly string[]>>;

const dimension = fc.constantFrom(...STATS_DIMENSIONS);
const queries = fc.array(
  fc.record({
    granularity: fc.constantFrom(...STATS_GRANULARITIES),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe'),
    attribution: fc.constantFrom(...STATS_ATTRIBUTIONS),
    groupBy: fc.uniqueArray(dimension, { maxLength: 2 }),
    environment: fc.constantFrom(null, 'live' as const, 'test' as const),
    // In quarter hours.
    from: fc.integer({ min: -100, max: 2000 }),
    quarters: fc.integer({ min: 1, max: 3000 }),
    where: fc
      .tuple(fc.subarray(Object.entries(FILTERS), { maxLength: 2 }), fc.nat())
      .map(([some, which]) => Object.fromEntries(some.map(([name, values]) => [name, values[which % values.length]]))),
  }),
  { minLength: QUERIES, maxLength: QUERIES },
);
type DrawnQuery = typeof queries extends fc.Arbitrary<readonly (infer One)[]> ? One : never;

describe('statistics of any history', () => {
  test('equal a recount from the log, for any dimensions, time zone, granularity, filters and attribution', async () => {
    await fc.assert(
      fc.asyncProperty(messages, queries, async (sent, asked) => {
        const { given, pool, store } = await openApplied(statsProjection);
        const happenings = sent.flatMap((one, at) => happeningsOf({ ...one, id: `msg_${at}` }));
        for (const { stream, event, at, environment } of happenings.toSorted((left, right) => left.at - right.at))
          expect(await given(stream, [event], { occurredAt: time(at), environment })).toEqual([]);
        const { events } = await store.readAll({ from: LOG_START, limit: 1000 });
        const counted = recount(events as readonly RecordedEvent<MessageEvent>[]);
        for (const query of asked.map(queryOf).filter(areKept)) await compare(pool, query, counted);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});

const happeningsOf = ({ id, minute, places, later, environment, trial, template, ...rest }: SentMail) => {
  const recipients = places.map((domain, at) => ({ ...recipient(`rcp_${at}`), domain }));
  const more = { ...(trial === undefined ? {} : { trial }), ...(template === undefined ? {} : { template }) };
  const { domainId, keyId, tagDigests, stream: messageClass } = rest;
  const [stream, [accepted]] = send(id, {
    recipients,
    domainId,
    keyId,
    tagDigests,
    stream: messageClass as 'bulk',
    ...more,
  });
  const about = { stream, environment: environment as 'live' | 'test' };
  let at = minute;
  const after = later.map(({ type, wait, who, category, machine }) => {
    at += wait;
    const recipientId = `rcp_${who % places.length}`;
    const { data } = LATER_EVENTS[type];
    const concerned = 'recipientIds' in data ? { recipientIds: [recipientId] } : { recipientId };
    const said = {
      ...(type === 'RecipientBounced' && category !== undefined ? { category } : {}),
      ...(/Opened|Clicked/.test(type) && machine !== undefined ? { machine } : {}),
    };
    const event = { type, data: { ...data, messageId: id, ...concerned, ...said } } as MessageEvent;
    return { ...about, event, at };
  });
  return [{ ...about, event: accepted as MessageEvent, at: minute }, ...after];
};

const QUARTER_MS = 900_000;

const queryOf = ({ from, quarters, ...rest }: DrawnQuery): QueryStats => ({
  ...DAY,
  ...rest,
  from: new Date(FROM_MS + from * QUARTER_MS).toISOString(),
  to: new Date(FROM_MS + (from + quarters) * QUARTER_MS).toISOString(),
  where: rest.where as QueryStats['where'],
});

const compare = async (
  pool: Parameters<typeof queryStats>[0],
  query: QueryStats,
  counted: readonly RecountedStats[],
): Promise<void> => {
  const { data, totals } = await queryStats(pool, query);
  const timeOf = ({ acceptedAt, at }: RecountedStats): string => (query.attribution === 'cohort' ? acceptedAt : at);
  const expected = counted.filter(
    (one) =>
      timeOf(one) >= query.from &&
      timeOf(one) < query.to &&
      (query.environment === null || has(one, 'environment', query.environment)) &&
      Object.entries(query.where).every(([name, value]) => has(one, name, value)),
  );
  expect(totals, JSON.stringify(query)).toEqual(summed(expected));
  const sum = (name: StatsMetric): number => data.reduce((all, row) => all + row[name], 0);
  if (!query.groupBy.includes('tag')) for (const name of STATS_METRICS) expect(sum(name), name).toBe(totals[name]);
  const starts = [...new Set(data.map(({ start }) => start))].sort();
  for (const { start, groups, ...row } of data) {
    const next = starts[starts.indexOf(start) + 1] ?? query.to;
    const own = expected.filter(
      (one) =>
        timeOf(one) >= start && timeOf(one) < next && query.groupBy.every((name, at) => has(one, name, groups[at])),
    );
    expect(row, `${start} ${groups} of ${JSON.stringify(query)}`).toEqual(summed(own));
  }
};
