import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createOrganization } from '../../../src/commands/organization.ts';
import { createLeadership } from '../../../src/workers/supervise.ts';
import type { ReadyEndpoint } from '../../../src/workers/webhooks/endpoints.ts';
import { type Reaction, recordWebhookDeliveries } from '../../../src/workers/webhooks/record-webhook-deliveries.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { createRecordingLogger } from '../recording-logger.ts';
import { service } from './opened.ts';

/** How often the checkpoint moves past what owes nothing, and how often a follower reads it. */
const CHECKPOINT_EVERY_MS = 1_000;
const FOLLOWER_LOOK_MS = 3_000;
const LATER = '9'.repeat(16);

/** Enough turns of the event loop for anything that does not wait. */
const turns = async (): Promise<void> => {
  for (let count = 0; count < 50; count += 1) await turn();
};

/** A recorder of a log with a webhook that subscribes to events of webhooks. Only `system.advance` moves its clock. */
const open = async (react: Reaction = async () => undefined) => {
  const outbox = await service();
  const { store, contents } = outbox.context;
  const system = createSteppableSystem();
  const webhookDeliveries = createInMemoryWebhookDeliveries();
  const leadership = createLeadership();
  const logger = createRecordingLogger();
  const owed: ReadyEndpoint[] = [];
  let worked = 0;
  const { webhook } = await outbox.webhook('http://127.0.0.1:9/', ['webhook.*'], 'test');
  const { webhookId } = webhook;
  const work = recordWebhookDeliveries({
    ...{ store, contents, webhookDeliveries, leadership, react, system, logger },
    onOwed: (endpoints) => void owed.push(...endpoints),
  });
  const start = () => {
    const stop = new AbortController();
    const ended = work(stop.signal, () => {
      worked += 1;
    });
    ended.catch(() => undefined); // expected by the test
    onTestFinished(async () => {
      stop.abort();
      await turns();
      await system.advance(2 * FOLLOWER_LOOK_MS);
      await ended.catch(() => undefined);
    });
    return ended;
  };
  return {
    ...{ store, system, webhookDeliveries, leadership, owed, start, webhookId },
    worked: () => worked,
    /** Registers another webhook: an event that the first is owed. */
    happen: async () => (await outbox.webhook('http://127.0.0.1:9/', ['topic.*'], 'test')).webhook.webhookId,
    /** Registers another organization: an event that no webhook is owed. */
    other: () => createOrganization(outbox.context, { name: 'Other', ceilings: null }),
    pending: () => webhookDeliveries.pendingOf(webhookId, 100),
    position: async () => (await webhookDeliveries.checkpoint())?.position ?? null,
    /** Another process moves the checkpoint. */
    moveElsewhere: async (to: string) => {
      const checkpoint = await webhookDeliveries.checkpoint();
      const from = checkpoint?.position ?? null;
      await webhookDeliveries.record({ logId: await store.logId(), from, to, owed: [], now: system.now() });
    },
  };
};

describe('the recording of what webhooks are owed', () => {
  test('waits for the reactions to the same events', async () => {
    const reacted = Promise.withResolvers<void>();
    const seen: string[] = [];
    const { start, pending, position, owed, store } = await open(async (events, endpoints) => {
      seen.push(...events.map(({ type }) => `${type} ${[...endpoints.enabled()].length}`));
      await reacted.promise;
    });
    start();
    await turns();
    expect(seen).toContain('WebhookRegistered 1');
    expect([await pending(), await position(), owed]).toEqual([0, null, []]);
    reacted.resolve();
    await turns();
    expect([await pending(), owed.length]).toEqual([1, 1]);
    expect(await position()).toBe(await store.head());
  });

  test('does not move past events whose reaction failed, and shows them again', async () => {
    let faults = 1;
    const seen: string[] = [];
    const { start, pending, position } = await open(async (events) => {
      seen.push(...events.map(({ id }) => id));
      if (faults > 0) {
        faults -= 1;
        throw new Error('a reaction failed');
      }
    });
    await expect(start()).rejects.toThrow('a reaction failed');
    expect([await pending(), await position()]).toEqual([0, null]);
    const first = [...seen];
    start();
    await turns();
    expect(seen.slice(first.length)).toEqual(first);
    expect(await pending()).toBe(1);
  });

  test('reports each page as progress, and names the endpoints that are owed something', async () => {
    const { start, happen, owed, worked, webhookId, pending } = await open();
    start();
    await turns();
    const before = worked();
    await happen();
    await turns();
    expect(worked()).toBe(before + 1);
    expect(owed.map((one) => one.webhookId)).toEqual([webhookId, webhookId]);
    expect(await pending()).toBe(2);
  });

  test('moves its checkpoint once at a time, so that it never takes itself for another process', async () => {
    const { start, happen, pending, leadership, moveElsewhere, store, system, webhookDeliveries, other } = await open();
    await moveElsewhere(await store.head());
    start();
    await turns();
    await other(); // it owes nothing
    await turns();
    const stored = Promise.withResolvers<void>();
    const { record } = webhookDeliveries;
    webhookDeliveries.record = async (recording) => {
      if (recording.owed.length > 0) await stored.promise;
      return record(recording);
    };
    await happen();
    await turns();
    await system.advance(2 * CHECKPOINT_EVERY_MS);
    stored.resolve();
    await turns();
    expect([await pending(), leadership.isLeader()]).toEqual([1, true]);
  });

  test('starts again with the endpoints as they stood at its checkpoint', async () => {
    const { start, happen, pending, leadership, moveElsewhere, store, system } = await open();
    await moveElsewhere(await store.head());
    await happen();
    start();
    await turns();
    expect([await pending(), leadership.isLeader()]).toEqual([1, true]);
    await system.advance(CHECKPOINT_EVERY_MS);
    expect(await pending()).toBe(1);
  });
});

describe('a process that finds the checkpoint moved by another', () => {
  test('records nothing, and follows until the checkpoint stands still', async () => {
    const { start, happen, pending, owed, leadership, moveElsewhere, system, store } = await open();
    start();
    await turns();
    expect([await pending(), leadership.isLeader()]).toEqual([1, true]);
    owed.length = 0;
    await moveElsewhere(`${LATER.slice(0, -2)}01`);
    await happen();
    await turns();
    expect([await pending(), owed, leadership.isLeader()]).toEqual([1, [], false]);
    for (let moved = 2; moved < 6; moved += 1) {
      await moveElsewhere(`${LATER.slice(0, -2)}0${moved}`);
      await system.advance(FOLLOWER_LOOK_MS);
      await turns();
      expect(leadership.isLeader()).toBe(false);
    }
    await moveElsewhere(await store.head());
    await system.advance(FOLLOWER_LOOK_MS);
    await turns();
    expect(leadership.isLeader()).toBe(false);
    await system.advance(FOLLOWER_LOOK_MS);
    await turns();
    expect(leadership.isLeader()).toBe(true);
    await happen();
    await turns();
    expect(await pending()).toBe(2);
  });
});
