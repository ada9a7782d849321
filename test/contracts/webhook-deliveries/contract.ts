import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CustomerEvent } from '../../../src/domain/customer-events/customer-events.ts';
import {
  deliveryId,
  type FinishedTry,
  type OwedDelivery,
  type WebhookDeliveries,
} from '../../../src/domain/ports/webhooks.ts';

export interface OpenStore {
  readonly deliveries: WebhookDeliveries;
  close(): Promise<void>;
}

const LOG = 'log-1';
export const T0 = new Date('2026-11-21T12:00:00.000Z');
export const after = (seconds: number): Date => new Date(T0.getTime() + seconds * 1000);

export const event = (id: string): CustomerEvent => ({
  id,
  type: 'message.accepted',
  timestamp: T0.toISOString(),
  organizationId: 'org_1',
  environment: 'live',
  subjectId: 'msg_1',
  sequence: 1,
  recipientId: 'rcp_1',
  contentId: null,
  facts: { reason: 'NUL \0 and "quotes"' },
});

export const owed = (webhookId: string, eventId: string): OwedDelivery => ({
  id: deliveryId(webhookId, eventId),
  webhookId,
  event: event(eventId),
});

const REQUEST = {
  url: 'https://example.com/hook?a=b',
  headerNames: ['authorization', 'x-team'],
  bodyBytes: 412,
  bodySha256: 'ab'.repeat(32),
};

export const finished = (delivery: OwedDelivery, change: Partial<FinishedTry> = {}): FinishedTry => ({
  deliveryId: delivery.id,
  attempt: 1,
  at: T0,
  request: REQUEST,
  status: 200,
  durationMs: 12,
  text: 'thanks "{}"',
  state: 'delivered',
  dueAt: T0,
  ...change,
});

/** The contract of every adapter for webhook deliveries. */
export const webhookDeliveriesContract = (name: string, open: () => Promise<OpenStore>): void => {
  describe(`webhook deliveries ${name}`, () => {
    let opened: OpenStore;
    let deliveries: WebhookDeliveries;

    beforeEach(async () => {
      opened = await open();
      deliveries = opened.deliveries;
    });

    afterEach(() => opened.close());

    const record = (rows: readonly OwedDelivery[], from: string | null = null, to = '1'): Promise<boolean> =>
      deliveries.record({ logId: LOG, from, to, owed: rows, now: T0 });

    const claim = (limit = 10, now = T0, webhookIds = ['whk_1']): ReturnType<WebhookDeliveries['claim']> =>
      deliveries.claim(
        webhookIds.map((webhookId) => ({ webhookId, limit })),
        { now, leaseUntil: new Date(now.getTime() + 60_000) },
      );

    test('keep events that are owed later, and create their deliveries once, alternating between organizations', async () => {
      const later = (organizationId: string, ids: readonly string[]) => ({
        organizationId,
        events: ids.map((id) => ({ ...event(id), organizationId })),
        webhookIds: ['whk_1', 'whk_2'],
      });
      const owedLater = [later('org_1', ['evt_1', 'evt_2']), later('org_1', ['evt_3']), later('org_2', ['evt_4'])];
      expect(await deliveries.record({ logId: LOG, from: null, to: '1', owed: [], owedLater, now: T0 })).toBe(true);
      expect(await claim(10, T0, ['whk_1', 'whk_2'])).toEqual([]);

      const [first, second] = [await deliveries.owedEvents(''), await deliveries.owedEvents('org_1')];
      expect(first).toMatchObject({ ...owedLater[0], made: 0 });
      expect(second).toMatchObject({ ...owedLater[2], made: 0 });
      expect(await deliveries.owedEvents('org_2')).toEqual(first);
      if (first === null) throw new Error('no events are owed');

      const part = { of: first, owed: [owed('whk_1', 'evt_1')], isLast: false, now: T0 };
      await deliveries.distribute(part);
      await deliveries.distribute({ ...part, owed: [owed('whk_2', 'evt_1')] }); // a process that is behind
      const rest = await deliveries.owedEvents('');
      expect(rest).toEqual({ ...first, made: 1 });
      if (rest === null) throw new Error('no events are owed');
      const left = [owed('whk_2', 'evt_1'), owed('whk_1', 'evt_2'), owed('whk_2', 'evt_2')];
      await deliveries.distribute({ of: rest, owed: left, isLast: true, now: T0 });
      await deliveries.distribute({ of: rest, owed: [owed('whk_1', 'evt_9')], isLast: true, now: T0 });
      expect(await deliveries.owedEvents('')).toMatchObject({ ...owedLater[1], made: 0 });
      const claimed = await claim(10, T0, ['whk_1', 'whk_2']);
      expect(claimed.map(({ id }) => id).sort()).toEqual([owed('whk_1', 'evt_1'), ...left].map(({ id }) => id).sort());
    });

    test('store no deferred events when another process has moved the checkpoint', async () => {
      await record([], null, '5');
      const owedLater = [{ organizationId: 'org_1', events: [event('evt_1')], webhookIds: ['whk_1'] }];
      expect(await deliveries.record({ logId: LOG, from: '4', to: '6', owed: [], owedLater, now: T0 })).toBe(false);
      expect(await deliveries.owedEvents('')).toBeNull();
    });

    test('have no checkpoint before the first recording, and the last one after it', async () => {
      expect(await deliveries.checkpoint()).toBeNull();
      expect(await record([], null, '0007')).toBe(true);
      expect(await deliveries.checkpoint()).toEqual({ logId: LOG, position: '0007' });
      expect(await record([], '0007', '0009')).toBe(true);
      expect(await deliveries.checkpoint()).toEqual({ logId: LOG, position: '0009' });
    });

    test('store nothing for a recorder that another one has overtaken', async () => {
      await record([], null, '5');
      expect(await record([owed('whk_1', 'evt_1')], null, '6')).toBe(false);
      expect(await record([owed('whk_1', 'evt_1')], '4', '6')).toBe(false);
      expect(await deliveries.record({ logId: 'other', from: '5', to: '6', owed: [], now: T0 })).toBe(false);
      expect(await claim()).toEqual([]);
      expect((await deliveries.checkpoint())?.position).toBe('5');
    });

    test('let one of two recorders win', async () => {
      const rows = [owed('whk_1', 'evt_1')];
      const results = await Promise.all([record(rows), record(rows), record(rows)]);
      expect(results.filter(Boolean)).toHaveLength(1);
      expect(await claim()).toHaveLength(1);
    });

    test('give each due delivery to one claim, with the event as it was recorded', async () => {
      const rows = ['evt_1', 'evt_2', 'evt_3', 'evt_4'].map((id) => owed('whk_1', id));
      await record(rows);
      const claims = (await Promise.all([claim(3), claim(3), claim(3)])).flat();
      expect(claims.map(({ id }) => id).toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
      expect(claims.find(({ id }) => id === rows[0]?.id)).toEqual({ ...rows[0], attempts: 0 });
    });

    test('hold each endpoint to its own limit', async () => {
      await record([...['evt_1', 'evt_2', 'evt_3'].map((id) => owed('whk_1', id)), owed('whk_2', 'evt_1')]);
      const claims = await claim(2, T0, ['whk_1', 'whk_2', 'whk_none']);
      expect(claims.map(({ webhookId }) => webhookId).toSorted()).toEqual(['whk_1', 'whk_1', 'whk_2']);
    });

    test('are due again when a lease ends, or as soon as they are released', async () => {
      await record([owed('whk_1', 'evt_1')]);
      expect(await claim()).toHaveLength(1);
      expect(await claim(10, after(59))).toEqual([]);
      expect(await claim(10, after(61))).toHaveLength(1);
      await deliveries.release([deliveryId('whk_1', 'evt_1')], after(62));
      expect(await claim(10, after(62))).toHaveLength(1);
    });

    test('are retried when they are due, and keep every attempt', async () => {
      const row = owed('whk_1', 'evt_1');
      await record([row]);
      await claim();
      await deliveries.finish([finished(row, { status: null, text: 'no answer', state: 'pending', dueAt: after(5) })]);
      expect(await claim(10, after(4))).toEqual([]);
      expect(await claim(10, after(5))).toEqual([{ ...row, attempts: 1 }]);
      await deliveries.finish([finished(row, { attempt: 2, at: after(5) })]);
      expect(await claim(10, after(999))).toEqual([]);
      expect((await deliveries.list({ webhookId: 'whk_1', limit: 10 })).deliveries).toEqual([
        {
          ...row,
          state: 'delivered',
          dueAt: null,
          createdAt: T0,
          tries: [
            { at: T0, request: REQUEST, status: null, durationMs: 12, text: 'no answer' },
            { at: after(5), request: REQUEST, status: 200, durationMs: 12, text: 'thanks "{}"' },
          ],
        },
      ]);
    });

    test('keep their result when an attempt that lost its lease is reported late', async () => {
      const row = owed('whk_1', 'evt_1');
      await record([row]);
      await deliveries.finish([finished(row)]);
      await deliveries.finish([finished(row, { status: 500, state: 'pending', dueAt: after(5) })]);
      expect(await claim(10, after(99))).toEqual([]);
      const { deliveries: listed } = await deliveries.list({ webhookId: 'whk_1', limit: 1 });
      expect(listed).toMatchObject([{ state: 'delivered', tries: [{ status: 200 }] }]);
    });

    test('report since when each endpoint has failed without a success, independently', async () => {
      const rows = ['evt_1', 'evt_2', 'evt_3'].map((id) => owed('whk_1', id));
      const other = owed('whk_2', 'evt_1');
      const [first, second, third] = rows as [OwedDelivery, OwedDelivery, OwedDelivery];
      await record([...rows, other]);
      const failed = { status: 500, state: 'pending', dueAt: after(999) } as const;
      expect(await deliveries.failingSince(['whk_1'])).toEqual(new Map());
      await deliveries.finish([
        finished(first, { ...failed, at: after(2) }),
        finished(second, { ...failed, at: after(1) }),
        finished(other),
      ]);
      await deliveries.finish([finished(first, { ...failed, attempt: 2, at: after(60) })]);
      expect(await deliveries.failingSince(['whk_1', 'whk_2'])).toEqual(new Map([['whk_1', after(1)]]));
      expect(await deliveries.failingSince([])).toEqual(new Map());
      await deliveries.finish([
        finished(third, { at: after(61) }),
        finished(second, { ...failed, attempt: 2, at: after(61) }),
      ]);
      expect(await deliveries.failingSince(['whk_1'])).toEqual(new Map());
      await deliveries.finish([finished(second, { ...failed, state: 'failed', attempt: 3, at: after(90) })]);
      expect(await deliveries.failingSince(['whk_1'])).toEqual(new Map([['whk_1', after(90)]]));
    });

    test('say since when the oldest one waits, which is not the one that is due first', async () => {
      expect(await deliveries.waitingSince(['whk_1'])).toEqual(new Map());
      const [first, second, other] = [owed('whk_1', 'evt_1'), owed('whk_1', 'evt_2'), owed('whk_2', 'evt_1')] as const;
      await record([first]);
      await deliveries.record({ logId: LOG, from: '1', to: '2', owed: [second, other], now: after(10) });
      const since = () => deliveries.waitingSince(['whk_1', 'whk_3']);
      expect(await since()).toEqual(new Map([['whk_1', T0]]));
      await deliveries.finish([finished(first, { status: 500, state: 'pending', dueAt: after(999) })]);
      expect(await since()).toEqual(new Map([['whk_1', T0]]));
      await deliveries.finish([finished(first, { attempt: 2 })]);
      expect(await since()).toEqual(new Map([['whk_1', after(10)]]));
      await deliveries.finish([finished(second)]);
      expect(await since()).toEqual(new Map());
      expect(await deliveries.waitingSince([])).toEqual(new Map());
    });

    test('are listed newest first, in pages', async () => {
      const ids = ['evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5'];
      for (const [index, id] of ids.entries()) {
        await record([owed('whk_1', id), owed('whk_2', id)], index === 0 ? null : String(index), String(index + 1));
      }
      const page = (after?: string): ReturnType<WebhookDeliveries['list']> =>
        deliveries.list({ webhookId: 'whk_1', limit: 2, ...(after && { after }) });
      const first = await page();
      const second = await page(String(first.next));
      const third = await page(String(second.next));
      const seen = [first, second, third].flatMap(({ deliveries: listed }) => listed.map(({ event: { id } }) => id));
      expect(seen).toEqual(ids.toReversed());
      expect(third.next).toBeNull();
      expect(await deliveries.list({ webhookId: 'whk_1', limit: 2, after: 'nonsense' })).toEqual({
        deliveries: [],
        next: null,
      });
    });

    test('are listed by state and by event type', async () => {
      const rows = ['evt_1', 'evt_2', 'evt_3'].map((id) => owed('whk_1', id));
      const [first, second] = rows as [OwedDelivery, OwedDelivery];
      await record(rows);
      await deliveries.finish([finished(first), finished(second, { request: { ...REQUEST, headerNames: [] } })]);
      const found = async (filter: Omit<Parameters<WebhookDeliveries['list']>[0], 'webhookId' | 'limit'>) =>
        (await deliveries.list({ webhookId: 'whk_1', limit: 10, ...filter })).deliveries.map(({ event: { id } }) => id);
      expect(await found({ state: 'delivered' })).toEqual(['evt_2', 'evt_1']);
      expect(await found({ state: 'pending', type: 'message.accepted' })).toEqual(['evt_3']);
      expect(await found({ type: 'message.delivered' })).toEqual([]);
      const page = await deliveries.list({ webhookId: 'whk_1', limit: 1, state: 'delivered' });
      expect(await found({ state: 'delivered', after: String(page.next) })).toEqual(['evt_1']);
    });

    test('are listed as failing after a failed attempt, whether or not another one follows', async () => {
      const rows = ['evt_1', 'evt_2', 'evt_3', 'evt_4'].map((id) => owed('whk_1', id));
      const [delivered, deferred, failed] = rows as [OwedDelivery, OwedDelivery, OwedDelivery];
      await record(rows);
      await deliveries.finish([
        finished(delivered),
        finished(deferred, { status: 502, state: 'pending', dueAt: after(5) }),
        finished(failed, { status: 502, state: 'failed' }),
      ]);
      const page = await deliveries.list({ webhookId: 'whk_1', limit: 10, state: 'failing' });
      expect(page.deliveries.map(({ event: { id } }) => id)).toEqual(['evt_3', 'evt_2']);
    });

    test('are due again when they are resent, and their attempts are numbered on', async () => {
      const row = owed('whk_1', 'evt_1');
      await record([row]);
      await claim();
      await deliveries.finish([finished(row)]);
      await deliveries.resend(row.id, after(60));
      expect(await claim(10, after(60))).toEqual([{ ...row, attempts: 1 }]);
      await deliveries.resend('dlv_none', after(60));
    });

    test('are found by their ids, newest first up to the limit, each with its attempts', async () => {
      const rows = [owed('whk_1', 'evt_1'), owed('whk_2', 'evt_1'), owed('whk_1', 'evt_2')];
      await record(rows);
      const failed = finished(rows[0] as OwedDelivery, { status: 500, state: 'pending', dueAt: after(60) });
      await deliveries.finish([failed]);
      await deliveries.finish([{ ...failed, attempt: 2, at: after(60), status: 200, state: 'delivered' }]);
      const ids = [...rows.map(({ id }) => id), 'dlv_none', rows[0]?.id ?? '', 'NUL'];
      const found = await deliveries.find({ ids, limit: 10 });
      expect(found.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).toReversed());
      expect(found.at(-1)).toMatchObject({ state: 'delivered', tries: [{ status: 500 }, { status: 200 }] });
      expect(found[0]).toMatchObject({ state: 'pending', tries: [] });
      expect((await deliveries.find({ ids, limit: 1 })).map(({ id }) => id)).toEqual([rows[2]?.id]);
      expect(await deliveries.find({ ids: [], limit: 10 })).toEqual([]);
    });
  });
};
