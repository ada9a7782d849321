import { describe, expect, test } from 'vitest';
import { StartRefused } from '../../../src/lib/async/async.ts';
import { requireRecordedFrom } from '../../../src/workers/webhooks/record-webhook-deliveries.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { until } from '../delivering.ts';
import { dueDeliveriesPosted, receiver, service } from './opened.ts';

/** Interval between two checks of the checkpoint. */
const CHECKPOINT_EVERY_MS = 1_000;
const BRIEFLY_MS = 20;

describe('recording webhook deliveries', () => {
  test('resumes where it stopped, without duplicating or losing a delivery', async () => {
    const outbox = await service();
    const endpoint = await receiver();
    const first = outbox.workers();
    first.start();
    await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    await outbox.send('ann@example.org', 'test');
    await until(() => expect(endpoint.posts).toHaveLength(1));
    await first.stop();
    await outbox.send('bob@example.org', 'test');
    outbox.workers().start();
    outbox.workers().start();
    await until(() => expect(endpoint.posts).toHaveLength(2));
    await dueDeliveriesPosted(outbox);
    expect(new Set(endpoint.posts.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
    expect(endpoint.posts).toHaveLength(2);
  });

  test('moves its checkpoint to the end of an idle log, and then writes nothing more', async () => {
    const outbox = await service();
    const { webhookDeliveries } = outbox.dependencies;
    let written = 0;
    const record: typeof webhookDeliveries.record = (recording) => {
      written += 1;
      return webhookDeliveries.record(recording);
    };
    let looks = 0;
    const sleepBriefly: typeof outbox.system.sleep = (ms, signal) => {
      looks += ms === CHECKPOINT_EVERY_MS ? 1 : 0;
      return outbox.system.sleep(Math.min(ms, BRIEFLY_MS), signal);
    };
    const system = { ...outbox.system, sleep: sleepBriefly };
    outbox.workers({ webhookDeliveries: { ...webhookDeliveries, record }, system }).start();
    const id = await outbox.send('ann@example.org', 'test');
    await until(async () => expect((await outbox.message(id)).recipients[0]?.status).toBe('delivered'));
    const head = await outbox.context.store.head();
    await until(async () => expect(await webhookDeliveries.checkpoint()).toMatchObject({ position: head }));
    const atRest = written;
    const looksAtRest = looks;
    await until(() => expect(looks).toBeGreaterThan(looksAtRest + 10));
    expect(written).toBe(atRest);
  });

  test('moves past no delivery while it fails', async () => {
    const outbox = await service();
    const endpoint = await receiver();
    const { webhookDeliveries } = outbox.dependencies;
    let isMended = false;
    let looks = 0;
    const record: typeof webhookDeliveries.record = async (recording) => {
      if (isMended || recording.owed.length === 0) return webhookDeliveries.record(recording);
      isMended = true;
      await until(() => expect(looks).toBeGreaterThan(0)); // the checkpoint is about to move past other pages
      throw new Error('the connection was lost');
    };
    const sleepBriefly: typeof outbox.system.sleep = async (ms, signal) => {
      await outbox.system.sleep(Math.min(ms, BRIEFLY_MS), signal);
      looks += ms === CHECKPOINT_EVERY_MS ? 1 : 0;
    };
    const system = { ...outbox.system, sleep: sleepBriefly };
    outbox.workers({ webhookDeliveries: { ...webhookDeliveries, record }, system }).start();
    await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    await outbox.send('ann@example.org', 'test');
    await until(() => expect(endpoint.types()).toEqual(['message.accepted']));
  });

  test('refuses any log but its own', async () => {
    const outbox = await service();
    const webhookDeliveries = createInMemoryWebhookDeliveries();
    await webhookDeliveries.record({ logId: 'another', from: null, to: '1', owed: [], now: new Date() });
    outbox.workers({ webhookDeliveries }).start();
    await until(() => expect(outbox.fatal).toHaveLength(1));
    expect(outbox.fatal[0]).toBeInstanceOf(StartRefused);
    expect(String(outbox.fatal[0])).toContain('webhook deliveries belong to log another');
  });

  test('can be checked against the log before anything starts', async () => {
    const webhookDeliveries = createInMemoryWebhookDeliveries();
    expect(await requireRecordedFrom(webhookDeliveries, 'ours')).toBeNull();
    await webhookDeliveries.record({ logId: 'ours', from: null, to: '1', owed: [], now: new Date() });
    expect(await requireRecordedFrom(webhookDeliveries, 'ours')).toEqual({ logId: 'ours', position: '1' });
    await expect(requireRecordedFrom(webhookDeliveries, 'another')).rejects.toBeInstanceOf(StartRefused);
  });
});
