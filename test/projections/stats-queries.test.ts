import { describe, expect, test } from 'vitest';
import type { StatsDimension } from '../../src/projections/stats/metrics.ts';
import { statsProjection } from '../../src/projections/stats/projection.ts';
import { type QueryStats, queryStats } from '../../src/projections/stats/queries.ts';
import { recipient } from '../support/controls/message.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS } from './support/message-events.ts';
import { AT, DAY, send } from './support/stats.ts';

describe('statistics', () => {
  test('can be grouped and filtered by every dimension', async () => {
    const { given, pool } = await openApplied(statsProjection);
    const mixed = [recipient('rcp_1'), { ...recipient('rcp_2'), domain: 'mail.example' }];
    await given(...send('msg_1', { recipients: mixed }), { occurredAt: AT });
    await given(...send('msg_2', { domainId: 'dom_2', keyId: 'key_2', stream: 'bulk' }), { occurredAt: AT });
    await given(...send('msg_3'), { occurredAt: AT, environment: 'test' });
    const by = async (groupBy: string, more: Partial<QueryStats> = {}) =>
      Object.fromEntries(
        (await queryStats(pool, { ...DAY, groupBy: groupBy.split(',') as StatsDimension[], ...more })).data.map(
          ({ groups, accepted }) => [groups.join(), accepted],
        ),
      );
    expect(await by('domain')).toEqual({ dom_1: 2, dom_2: 1 });
    expect(await by('api_key')).toEqual({ key_1: 2, key_2: 1 });
    expect(await by('stream')).toEqual({ transactional: 2, bulk: 1 });
    expect(await by('recipient_domain')).toEqual({ 'example.net': 2, 'mail.example': 1 });
    expect(await by('environment', { environment: null })).toEqual({ live: 3, test: 1 });
    expect(await by('domain', { where: { recipient_domain: 'mail.example' } })).toEqual({ dom_1: 1 });
    expect(await by('recipient_domain,domain')).toEqual({
      'example.net,dom_1': 1,
      'example.net,dom_2': 1,
      'mail.example,dom_1': 1,
    });
    expect(await by('domain', { where: { stream: 'bulk', api_key: 'key_2', domain: 'dom_2' } })).toEqual({ dom_2: 1 });
  });

  test('can be grouped and filtered by template and version, mailbox provider and bounce class', async () => {
    const { given, pool } = await openApplied(statsProjection);
    const to = (domain: string) => [{ ...recipient('rcp_1'), domain }];
    const template = { templateId: 'tpl_1', version: 2 };
    await given(...send('msg_1', { recipients: to('gmail.com'), template }), { occurredAt: AT });
    await given(...send('msg_2', { recipients: to('googlemail.com'), template: { ...template, version: 3 } }), {
      occurredAt: AT,
    });
    await given(...send('msg_3', { recipients: to('constructor') }), { occurredAt: AT });
    for (const [messageId, category] of [
      ['msg_1', 'mailbox_full'],
      ['msg_2', undefined],
    ] as const) {
      const { type, data } = LATER_EVENTS.RecipientBounced;
      await given(`message-${messageId}`, [{ type, data: { ...data, messageId, category } }]);
    }
    const by = async (groupBy: readonly StatsDimension[], where: QueryStats['where'] = {}) =>
      (await queryStats(pool, { ...DAY, groupBy, where })).data.map(({ groups, accepted, bounced }) => [
        ...groups,
        accepted,
        bounced,
      ]);
    expect(await by(['template', 'template_version'])).toEqual([
      ['', '', 1, 0],
      ['tpl_1', '2', 1, 1],
      ['tpl_1', '3', 1, 1],
    ]);
    expect(await by([], { template: 'tpl_1', template_version: '3' })).toEqual([[1, 1]]);
    expect(await by(['mailbox_provider'])).toEqual([
      ['gmail', 2, 2],
      ['other', 1, 0],
    ]);
    expect(await by(['recipient_domain'], { mailbox_provider: 'gmail' })).toHaveLength(2);
    expect(await by(['bounce_class'])).toEqual([
      ['', 3, 0],
      ['mailbox_full', 0, 1],
      ['unknown', 0, 1],
    ]);
    expect(await by([], { bounce_class: 'mailbox_full' })).toEqual([[0, 1]]);
  });

  test('by tag count a recipient once for each tag of its message, and once in the totals', async () => {
    const { given, pool } = await openApplied(statsProjection);
    await given(...send('msg_1', { tagDigests: ['t1', 't2', 't2'] }), { occurredAt: AT });
    await given(...send('msg_2', { tagDigests: ['t2'] }), { occurredAt: AT });
    await given(...send('msg_3'), { occurredAt: AT });
    await given('message-msg_1', [LATER_EVENTS.RecipientDelivered], { occurredAt: '2026-12-20T10:00:00.000Z' });
    const by = async (more: Partial<QueryStats>) => {
      const { data, totals } = await queryStats(pool, { ...DAY, ...more });
      return [totals.accepted, ...data.map(({ groups, accepted, delivered }) => [...groups, accepted, delivered])];
    };
    expect(await by({ groupBy: ['tag'] })).toEqual([3, ['t1', 1, 1], ['t2', 2, 1]]);
    expect(await by({ groupBy: ['tag', 'domain'], where: { tag: 't2' } })).toEqual([2, ['t2', 'dom_1', 2, 1]]);
    expect(await by({ where: { tag: 't1' } })).toEqual([1, [1, 1]]);
  });

  test('keep 100 tags per organization and day, and count all others together', async () => {
    const { given, pool } = await openApplied(statsProjection);
    const tagged = (from: number) => Array.from({ length: 10 }, (_, at) => `t${from + at}`);
    for (let from = 0; from < 120; from += 10)
      await given(...send(`msg_${from}`, { tagDigests: tagged(from) }), { occurredAt: AT });
    await given(...send('msg_again', { tagDigests: ['t0', 't119'] }), { occurredAt: AT });
    await given(...send('msg_later', { tagDigests: ['t119'] }), { occurredAt: '2026-11-21T00:00:00.000Z' });
    const tag = (name: string) => queryStats(pool, { ...DAY, to: '2026-11-22T00:00:00.000Z', where: { tag: name } });
    expect((await tag('t0')).totals.accepted).toBe(2);
    expect((await tag('t119')).totals.accepted).toBe(1);
    expect((await tag('(other)')).totals.accepted).toBe(3);
    const { rows } = await pool.query('select count(*)::int as tags from read_models.stats_tags');
    expect(rows).toEqual([{ tags: 101 }]);
  });

  test('that take too long to count are refused with advice, and block nothing', async () => {
    const { pool } = await openApplied(statsProjection);
    const locking = await pool.connect();
    await locking.query('begin; lock table read_models.stats_buckets in access exclusive mode');
    const refused = { code: 'unavailable', message: expect.stringContaining('ask for a shorter time') };
    await expect(queryStats(pool, DAY, 50)).rejects.toMatchObject(refused);
    await locking.query('rollback');
    locking.release();
    expect((await queryStats(pool, DAY)).totals.accepted).toBe(0);
  });

  test('have one group for all values beyond 25, so that the groups add up to the totals', async () => {
    const { given, pool } = await openApplied(statsProjection);
    const to = Array.from({ length: 40 }, (_, at) => ({ ...recipient(`rcp_${at}`), domain: `d${at}.example` }));
    await given(...send('msg_1', { recipients: to }), { occurredAt: AT });
    await given(...send('msg_2', { recipients: to.slice(35) }), { occurredAt: AT });
    for (const groupBy of [['recipient_domain'], ['recipient_domain', 'domain']] as const) {
      const { data, totals } = await queryStats(pool, { ...DAY, groupBy });
      expect(data).toHaveLength(26);
      const others = data.filter(({ groups }) => groups.includes('(other)'));
      expect(others).toMatchObject([{ groups: groupBy.map(() => '(other)'), accepted: 15 }]);
      expect(data.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(totals.accepted);
    }
  });

  test.each([
    ['day', 'UTC', ['2026-11-10T00:00Z', '2026-11-17T00:00Z'], ['2026-11-03T00:00Z', '2026-11-10T00:00Z']],
    // The clocks are changed on 25 October.
    ['day', 'Europe/Berlin', ['2026-10-24T22:00Z', '2026-10-25T23:00Z'], ['2026-10-23T22:00Z', '2026-10-24T22:00Z']],
    ['week', 'UTC', ['2026-11-02T00:00Z', '2026-11-16T00:00Z'], ['2026-10-19T00:00Z', '2026-11-02T00:00Z']],
    ['month', 'UTC', ['2026-11-01T00:00Z', '2026-12-01T00:00Z'], ['2026-10-01T00:00Z', '2026-11-01T00:00Z']],
    ['month', 'UTC', ['2026-11-01T00:00Z', '2026-11-15T00:00Z'], ['2026-10-01T00:00Z', '2026-10-15T00:00Z']],
    ['hour', 'UTC', ['2026-11-10T03:30Z', '2026-11-10T05:00Z'], ['2026-11-10T01:30Z', '2026-11-10T03:00Z']],
  ] as const)(
    'are compared with the previous period: by %s in %s, %s',
    async (granularity, timezone, period, before) => {
      const { given, pool } = await openApplied(statsProjection);
      const iso = (time: string): string => new Date(time).toISOString();
      await given(...send('msg_1'), { occurredAt: iso(before[0]) });
      const range = { from: iso(period[0]), to: iso(period[1]) };
      const { totals, previous } = await queryStats(pool, {
        ...DAY,
        ...range,
        granularity,
        timezone,
        comparesPrevious: true,
      });
      expect(totals.accepted).toBe(0);
      expect(previous).toMatchObject({ from: iso(before[0]), to: iso(before[1]), totals: { accepted: 1 } });
    },
  );
});
