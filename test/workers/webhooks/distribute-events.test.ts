import { describe, expect, test } from 'vitest';
import type { CustomerEvent } from '../../../src/domain/customer-events/customer-events.ts';
import { createReadyEndpoints } from '../../../src/workers/webhooks/endpoints.ts';
import { distributeEvents } from '../../../src/workers/webhooks/record-webhook-deliveries.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { createSteppableSystem } from '../../support/system.ts';

/** Interval at which events are looked for, and deliveries of one turn. */
const EVERY_MS = 250;
const PER_TURN = 500;
const EVERYTHING = { total: 100_000, perOrganization: 100_000 };

const namesOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Events that so many endpoints of each organization are owed, and the job that makes their deliveries. */
const open = async (
  owed: Readonly<Record<string, readonly [events: number, endpoints: number]>>,
  isLeaderFirst = true,
) => {
  const system = createSteppableSystem();
  const webhookDeliveries = createInMemoryWebhookDeliveries();
  const made: string[] = [];
  const { distribute } = webhookDeliveries;
  webhookDeliveries.distribute = async (distribution) => {
    made.push(...distribution.owed.map(({ webhookId, event }) => `${event.id} ${webhookId}`));
    await distribute(distribution);
  };
  const owedLater = Object.entries(owed).map(([organizationId, [events, endpoints]]) => ({
    organizationId,
    events: namesOf(`${organizationId}_e`, events).map((id) => ({ id, organizationId }) as CustomerEvent),
    webhookIds: namesOf(`${organizationId}_w`, endpoints),
  }));
  await webhookDeliveries.record({ logId: 'log', from: null, to: '1', owed: [], owedLater, now: system.now() });
  const readyEndpoints = createReadyEndpoints();
  let isLeader = isLeaderFirst;
  const stop = new AbortController();
  const work = distributeEvents({
    webhookDeliveries,
    readyEndpoints,
    leadership: { isLeader: () => isLeader },
    system,
  });
  const ended = work(stop.signal, () => undefined);
  return {
    ...{ system, made, webhookDeliveries },
    lead: (leads: boolean) => {
      isLeader = leads;
    },
    ready: () => readyEndpoints.take(EVERYTHING).map(({ webhookId }) => webhookId),
    stop: async () => {
      stop.abort();
      await system.advance(EVERY_MS);
      await ended;
    },
  };
};

describe('events that are owed to many endpoints', () => {
  test('are distributed to each of them once, in turns of 500 deliveries', async () => {
    const { system, made, ready, stop, webhookDeliveries } = await open({ a: [3, 400] });
    await system.advance(4 * EVERY_MS);
    await stop();
    const expected = namesOf('a_e', 3).flatMap((event) => namesOf('a_w', 400).map((webhook) => `${event} ${webhook}`));
    expect(made).toEqual(expected);
    expect(ready().toSorted()).toEqual(namesOf('a_w', 400).toSorted());
    expect(await webhookDeliveries.owedEvents('')).toBeNull();
    expect(await webhookDeliveries.pendingOf('a_w0', 10)).toBe(3);
  });

  test('of several organizations take turns', async () => {
    const { system, made, stop } = await open({ a: [2, PER_TURN], b: [2, PER_TURN] });
    await system.advance(10 * EVERY_MS);
    await stop();
    const turns = [0, 1, 2, 3].map((turn) => made[turn * PER_TURN]?.split(' ')[0]);
    expect(turns).toEqual(['a_e0', 'b_e0', 'a_e1', 'b_e1']);
  });

  test('are distributed by the leader alone', async () => {
    const { system, made, lead, stop } = await open({ a: [1, 10] }, false);
    await system.advance(4 * EVERY_MS);
    expect(made).toEqual([]);
    lead(true);
    await system.advance(4 * EVERY_MS);
    await stop();
    expect(made).toHaveLength(10);
  });
});
