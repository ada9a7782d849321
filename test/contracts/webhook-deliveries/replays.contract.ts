import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deliveryId, type OwedDelivery, type WebhookDeliveries } from '../../../src/domain/ports/webhooks.ts';
import { after, event, finished, type OpenStore, owed, T0 } from './contract.ts';

/** The contract of every adapter for replays of webhooks. */
export const webhookReplaysContract = (name: string, open: () => Promise<OpenStore>): void => {
  describe(`webhook deliveries ${name}`, () => {
    let opened: OpenStore;
    let deliveries: WebhookDeliveries;

    beforeEach(async () => {
      opened = await open();
      deliveries = opened.deliveries;
    });

    afterEach(() => opened.close());

    const record = (rows: readonly OwedDelivery[]): Promise<boolean> =>
      deliveries.record({ logId: 'log-1', from: null, to: '1', owed: rows, now: T0 });

    const claim = (now: Date): ReturnType<WebhookDeliveries['claim']> =>
      deliveries.claim([{ webhookId: 'whk_1', limit: 10 }], { now, leaseUntil: new Date(now.getTime() + 60_000) });

    const replay = (id: string, webhookId = 'whk_1') => ({
      ...{ id, webhookId, since: T0, until: after(60), place: { position: '5', index: 0 }, upTo: '9', createdAt: T0 },
    });
    const again = (webhookId: string, eventId: string, replayId: string): OwedDelivery => ({
      ...{ id: deliveryId(webhookId, eventId, replayId), webhookId, event: event(eventId) },
    });

    const running = async (): Promise<readonly string[]> =>
      (await deliveries.runningReplays({ limit: 10, after: null })).replays.map(({ id }) => id);

    test('of an endpoint are replayed by one replay at a time', async () => {
      const started = await Promise.all(['rpl_1', 'rpl_2'].map((id) => deliveries.startReplay(replay(id))));
      expect(started.toSorted()).toEqual([false, true]);
      expect(await deliveries.startReplay(replay('rpl_3', 'whk_2'))).toBe(true);
      expect(await running()).toEqual([started[0] ? 'rpl_1' : 'rpl_2', 'rpl_3']);
      await deliveries.cancelReplay(started[0] ? 'rpl_1' : 'rpl_2', after(1));
      expect(await deliveries.startReplay(replay('rpl_4'))).toBe(true);
    });

    test('of a replay are stored with its position by only one of several processes', async () => {
      const [first] = [replay('rpl_1')];
      await record([owed('whk_1', 'evt_1')]);
      await deliveries.startReplay(first);
      const step = { replay: first, to: { position: '7', index: 1 }, isLast: false, now: after(1) };
      const owedAgain = [again('whk_1', 'evt_1', 'rpl_1')];
      const moved = await Promise.all([1, 2, 3].map(() => deliveries.advanceReplay({ ...step, owed: owedAgain })));
      expect(moved.filter(Boolean)).toHaveLength(1);
      expect(await claim(after(1))).toHaveLength(2);
      const found = await deliveries.findReplay('rpl_1');
      expect(found).toEqual({
        ...{ ...first, place: step.to, state: 'running', endedAt: null },
        counts: { pending: 1, delivered: 0, failed: 0 },
      });
      const [row] = (await deliveries.list({ webhookId: 'whk_1', limit: 1 })).deliveries;
      expect(row).toMatchObject({ replayId: 'rpl_1', event: { id: 'evt_1' } });
      await deliveries.finish([finished(owedAgain[0] as OwedDelivery)]);
      const last = { ...step, replay: { id: 'rpl_1', place: step.to }, owed: [], isLast: true };
      expect(await deliveries.advanceReplay(last)).toBe(true);
      expect(await deliveries.findReplay('rpl_1')).toMatchObject({
        ...{ state: 'completed', endedAt: after(1), counts: { pending: 0, delivered: 1, failed: 0 } },
      });
      expect(await deliveries.advanceReplay({ ...last, owed: owedAgain })).toBe(false);
      expect(await running()).toEqual([]);
      expect(await deliveries.findReplay('rpl_none')).toBeNull();
    });

    test('are replayed by replays that are listed newest first and run oldest first, in pages', async () => {
      for (const id of ['rpl_1', 'rpl_2', 'rpl_3']) {
        await deliveries.startReplay(replay(id));
        if (id !== 'rpl_3') await deliveries.cancelReplay(id, after(1));
      }
      await deliveries.startReplay(replay('rpl_4', 'whk_2'));
      const newest = await deliveries.listReplays({ webhookId: 'whk_1', limit: 2 });
      expect(newest.replays).toEqual([await deliveries.findReplay('rpl_3'), await deliveries.findReplay('rpl_2')]);
      const rest = await deliveries.listReplays({ webhookId: 'whk_1', limit: 2, after: newest.next ?? '' });
      expect([rest.replays.map(({ id }) => id), rest.next]).toEqual([['rpl_1'], null]);
      const first = await deliveries.runningReplays({ limit: 1, after: null });
      const second = await deliveries.runningReplays({ limit: 1, after: first.next });
      expect([first, second].map(({ replays }) => replays.map(({ id }) => id))).toEqual([['rpl_3'], ['rpl_4']]);
      expect(second.next).toBeNull();
    });

    test('of a cancelled replay are dropped, except those already attempted', async () => {
      await record([owed('whk_1', 'evt_1')]);
      await deliveries.startReplay(replay('rpl_1'));
      const rows = ['evt_1', 'evt_2'].map((id) => again('whk_1', id, 'rpl_1'));
      const step = { replay: replay('rpl_1'), to: { position: '7', index: 0 }, owed: rows, isLast: false, now: T0 };
      await deliveries.advanceReplay(step);
      await deliveries.finish([finished(rows[0] as OwedDelivery, { status: 500, state: 'pending', dueAt: after(9) })]);
      expect(await deliveries.pendingOf('whk_1', 10)).toBe(3);
      expect(await deliveries.pendingOf('whk_1', 2)).toBe(2);
      await deliveries.cancelReplay('rpl_1', after(1));
      expect(await deliveries.findReplay('rpl_1')).toMatchObject({ state: 'cancelled', counts: { pending: 1 } });
      expect((await deliveries.list({ webhookId: 'whk_1', limit: 9 })).deliveries.map(({ id }) => id)).toEqual([
        ...[rows[0]?.id, deliveryId('whk_1', 'evt_1')],
      ]);
    });
  });
};
