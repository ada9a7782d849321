import { describe, expect, test } from 'vitest';
import { statsProjection } from '../../src/projections/stats/projection.ts';
import { type QueryStats, queryStats } from '../../src/projections/stats/queries.ts';
import { recipient } from '../support/controls/message.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS, laterTypes } from './support/message-events.ts';
import { AT, DAY, send } from './support/stats.ts';

describe('statistics', () => {
  const counted: Readonly<Record<keyof typeof LATER_EVENTS, object>> = {
    MessageScheduled: {},
    MessageRescheduled: {},
    RecipientsHeld: {},
    AttemptStarted: {},
    AttemptOutcomeUnknown: { deferred: 1 },
    RecipientDelivered: { delivered: 1 },
    RecipientDeferred: { deferred: 1 },
    RecipientBounced: { bounced: 1 },
    RecipientExpired: { expired: 1 },
    RecipientFailed: { failed: 1 },
    RecipientSuppressed: { suppressed: 1 },
    RecipientCancelled: { cancelled: 1 },
    RecipientOpened: { opened: 1, opens: 1 },
    RecipientClicked: { clicked: 1, clicks: 2 },
    RecipientComplained: { complained: 1 },
    RecipientReportNoted: {},
    RecipientsResent: {},
    RecipientUnsubscribed: { unsubscribed: 1 },
  };
  const nothing = {
    delivered: 0,
    deferred: 0,
    bounced: 0,
    failed: 0,
    expired: 0,
    suppressed: 0,
    cancelled: 0,
    opened: 0,
    opens: 0,
    clicked: 0,
    clicks: 0,
    machine_opened: 0,
    machine_clicked: 0,
    complained: 0,
    unsubscribed: 0,
  };
  const REPEATED = ['RecipientDeferred', 'AttemptOutcomeUnknown', 'RecipientComplained', 'RecipientUnsubscribed'];
  for (const type of laterTypes) {
    test(`count ${type} in the bucket of the acceptance, once`, async () => {
      const { given, pool } = await openApplied(statsProjection);
      await given(...send('msg_1', { recipients: [recipient('rcp_1'), recipient('rcp_2')] }), { occurredAt: AT });
      await given('message-msg_1', [LATER_EVENTS[type]], { occurredAt: '2026-11-23T10:00:00.000Z' });
      if (REPEATED.includes(type)) await given('message-msg_1', [LATER_EVENTS[type], LATER_EVENTS[type]]);
      const { totals, data } = await queryStats(pool, DAY);
      expect(totals).toMatchObject({ accepted: 2, ...nothing, ...counted[type] });
      expect(data).toEqual([{ start: '2026-11-20T00:00:00.000Z', groups: [], ...totals }]);
    });
  }

  test('count people who open and click once each, how often they do it, and machines separately', async () => {
    const { given, pool } = await openApplied(statsProjection);
    await given(...send('msg_1', { recipients: [recipient('rcp_1'), recipient('rcp_2')] }), { occurredAt: AT });
    await given(...send('msg_2', {}), { occurredAt: AT, environment: 'test' });
    const { RecipientOpened: opened, RecipientClicked: clicked } = LATER_EVENTS;
    const machine = { machine: 'scanner' } as const;
    await given('message-msg_1', [opened, clicked, clicked]);
    const again = { ...opened, data: { ...opened.data, count: 4 } };
    const byMachine = [again, { ...opened, data: { ...opened.data, ...machine } }].map((event) => event);
    await given('message-msg_1', [
      ...byMachine,
      { ...clicked, data: { ...clicked.data, ...machine, recipientId: 'rcp_2' } },
    ]);
    const tried = { ...opened, data: { ...opened.data, messageId: 'msg_2' } };
    await given('message-msg_2', [tried], { environment: 'test' });
    const expected = { accepted: 2, opened: 1, opens: 5, clicked: 1, clicks: 4, machine_opened: 1, machine_clicked: 1 };
    expect((await queryStats(pool, DAY)).totals).toMatchObject(expected);
  });

  test('measure the latency of scheduled mail from its scheduled time', async () => {
    const { given, pool } = await openApplied(statsProjection);
    const schedule = (type: 'MessageScheduled' | 'MessageRescheduled', scheduledAt: string) => {
      const event = LATER_EVENTS[type];
      return {
        ...event,
        data: { ...event.data, messageId: 'msg_1', recipientIds: ['rcp_1'], scheduledAt },
      } as typeof event;
    };
    await given(...send('msg_1', { recipients: [recipient('rcp_1')] }), { occurredAt: AT });
    await given('message-msg_1', [schedule('MessageScheduled', '2026-11-20T11:00:00.000Z')], { occurredAt: AT });
    await given('message-msg_1', [schedule('MessageRescheduled', '2026-11-20T12:00:00.000Z')], { occurredAt: AT });
    await given('message-msg_1', [LATER_EVENTS.RecipientDelivered], { occurredAt: '2026-11-20T12:00:02.000Z' });
    const { latency } = (await queryStats(pool, DAY)).totals;
    expect(Math.abs((latency?.p50 ?? 0) / 2_000 - 1)).toBeLessThan(0.1);
  });

  test('count one final outcome: a bounce after delivery replaces it', async () => {
    const { given, pool } = await openApplied(statsProjection);
    await given(...send('msg_1'), { occurredAt: AT });
    await given('message-msg_1', [LATER_EVENTS.RecipientDelivered]);
    await given('message-msg_1', [LATER_EVENTS.RecipientBounced]);
    expect((await queryStats(pool, DAY)).totals).toMatchObject({ accepted: 1, delivered: 0, bounced: 1 });
  });

  test('by event time count each event when it happened, even in other quarters of an hour, days and years', async () => {
    const { given, pool } = await openApplied(statsProjection);
    await given(...send('msg_1', { recipients: [recipient('rcp_1'), recipient('rcp_2')] }), { occurredAt: AT });
    const { RecipientDelivered: delivery, RecipientOpened: opened, RecipientBounced: bounce } = LATER_EVENTS;
    await given('message-msg_1', [delivery], { occurredAt: '2026-11-20T10:20:00.000Z' });
    await given('message-msg_1', [opened], { occurredAt: '2026-11-22T10:00:00.000Z' });
    const range = { from: '2026-11-20T00:00:00.000Z', to: '2027-02-01T00:00:00.000Z' };
    const found = async (more: Partial<QueryStats> = {}) => {
      const asked = { ...DAY, ...range, attribution: 'event', ...more } as const;
      const { data, totals } = await queryStats(pool, asked);
      const busy = data.filter((row) => row.accepted + row.delivered + row.opened + row.bounced > 0);
      return { totals, days: busy.map((row) => [row.start.slice(0, 10), row.delivered, row.opened, row.bounced]) };
    };
    expect((await found()).days).toEqual([
      ['2026-11-20', 1, 0, 0],
      ['2026-11-22', 0, 1, 0],
    ]);
    await given('message-msg_1', [bounce], { occurredAt: '2027-01-02T10:00:00.000Z' });
    for (const more of [{}, { groupBy: ['recipient_domain'] }] as const) {
      const { days, totals } = await found(more);
      expect(days).toEqual([
        ['2026-11-20', 0, 0, 0],
        ['2026-11-22', 0, 1, 0],
        ['2027-01-02', 0, 0, 1],
      ]);
      expect(totals).toMatchObject({ accepted: 2, delivered: 0, opened: 1, bounced: 1 });
      expect(totals.latency?.p50).toBeGreaterThan(700_000);
    }
    const quarter = { from: '2026-11-20T10:15:00.000Z', to: '2026-11-20T10:30:00.000Z', granularity: 'hour' } as const;
    expect((await found(quarter)).totals).toMatchObject({ accepted: 0, latency: { p50: expect.any(Number) } });
  });

  test('estimate the time from acceptance to delivery to within a tenth', async () => {
    const { given, pool } = await openApplied(statsProjection);
    const times = [120, 120, 120, 120, 120, 900, 900, 900, 900, 60_000];
    for (const [number, ms] of times.entries()) {
      await given(...send(`msg_${number}`), { occurredAt: AT });
      const delivered = {
        ...LATER_EVENTS.RecipientDelivered,
        data: { ...LATER_EVENTS.RecipientDelivered.data, messageId: `msg_${number}` },
      };
      await given(`message-msg_${number}`, [delivered], { occurredAt: new Date(Date.parse(AT) + ms).toISOString() });
    }
    const { latency } = (await queryStats(pool, DAY)).totals;
    for (const [name, ms] of [
      ['p50', 120],
      ['p90', 900],
      ['p99', 60_000],
    ] as const) {
      expect(Math.abs((latency?.[name] ?? 0) / ms - 1)).toBeLessThan(0.1);
    }
  });

  test('follow the time zone, even with quarter-hour offsets and on days of 23 or 25 hours', async () => {
    const { given, pool } = await openApplied(statsProjection);
    const times = [
      '2026-10-24T21:59:00.000Z',
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T22:59:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ];
    for (const [number, occurredAt] of times.entries()) await given(...send(`msg_${number}`), { occurredAt });
    const range = { from: '2026-10-23T22:00:00.000Z', to: '2026-10-26T23:00:00.000Z' };
    const berlin = await queryStats(pool, { ...DAY, ...range, timezone: 'Europe/Berlin' });
    expect(berlin.data.map(({ start, accepted }) => [start, accepted])).toEqual([
      ['2026-10-23T22:00:00.000Z', 1],
      ['2026-10-24T22:00:00.000Z', 2],
      ['2026-10-25T23:00:00.000Z', 1],
    ]);
    const hours = await queryStats(pool, { ...DAY, ...range, granularity: 'hour', timezone: 'Europe/Berlin' });
    expect(hours.data).toHaveLength(24 + 25 + 24);
    const nepal = await queryStats(pool, { ...DAY, ...range, granularity: 'hour', timezone: 'Asia/Kathmandu' });
    const busy = nepal.data.filter(({ accepted }) => accepted > 0);
    expect(busy.map(({ start, accepted }) => [start, accepted])).toEqual([
      ['2026-10-24T21:15:00.000Z', 2],
      ['2026-10-25T22:15:00.000Z', 2],
    ]);
    expect(nepal.totals.accepted).toBe(4);
  });

  test('have every bucket if the clocks change at midnight, or by half an hour', async () => {
    const { given, pool } = await openApplied(statsProjection);
    const times = ['2026-03-27T22:30:00.000Z', '2026-03-29T12:00:00.000Z', '2026-03-30T12:00:00.000Z'];
    for (const [number, occurredAt] of times.entries()) await given(...send(`msg_${number}`), { occurredAt });
    const range = { from: '2026-03-27T22:00:00.000Z', to: '2026-03-30T21:00:00.000Z' };
    // In Beirut, 29 March 2026 starts at 01:00.
    const beirut = await queryStats(pool, { ...DAY, ...range, timezone: 'Asia/Beirut' });
    expect(beirut.data.map(({ start, accepted }) => [start, accepted])).toEqual([
      ['2026-03-27T22:00:00.000Z', 1],
      ['2026-03-28T22:00:00.000Z', 1],
      ['2026-03-29T21:00:00.000Z', 1],
    ]);
    // On 5 April 2026 the clocks on Lord Howe Island go back from +11 to +10:30 at 02:00.
    await given(...send('msg_island'), { occurredAt: '2026-04-05T03:40:00.000Z' });
    const island = {
      from: '2026-04-04T13:00:00.000Z',
      to: '2026-04-05T13:30:00.000Z',
      timezone: 'Australia/Lord_Howe',
    };
    const hours = await queryStats(pool, { ...DAY, ...island, granularity: 'hour' });
    expect(hours.data.filter(({ accepted }) => accepted > 0)).toMatchObject([{ start: '2026-04-05T03:30:00.000Z' }]);
    expect(hours.totals.accepted).toBe(1);
  });

  test('have every bucket of the range, also weeks and months, and nothing outside it', async () => {
    const { given, pool } = await openApplied(statsProjection);
    await given(...send('msg_1'), { occurredAt: AT });
    await given(...send('msg_2'), { occurredAt: '2026-11-21T00:00:00.000Z' });
    const hours = await queryStats(pool, { ...DAY, granularity: 'hour' });
    expect(hours.data).toHaveLength(24);
    expect(hours.data.map(({ accepted }) => accepted).filter((accepted) => accepted > 0)).toEqual([1]);
    expect(hours.totals.accepted).toBe(1);
    const year = { from: '2026-01-01T00:00:00.000Z', to: '2027-01-01T00:00:00.000Z' };
    expect((await queryStats(pool, { ...DAY, ...year, granularity: 'month' })).data).toHaveLength(12);
    const weeks = await queryStats(pool, { ...DAY, ...year, granularity: 'week' });
    expect(weeks.data.find(({ accepted }) => accepted === 2)?.start).toBe('2026-11-16T00:00:00.000Z');
    const empty = await queryStats(pool, { ...DAY, organizationId: 'org_none' });
    expect(empty).toMatchObject({ totals: { accepted: 0, latency: null }, data: [{ accepted: 0, latency: null }] });
  });
});
