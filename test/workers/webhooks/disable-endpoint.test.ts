import { describe, expect, test } from 'vitest';
import { load } from '../../../src/commands/execute.ts';
import { updateWebhook } from '../../../src/commands/webhook.ts';
import { webhookStream } from '../../../src/domain/kernel/streams.ts';
import type { FinishedTry } from '../../../src/domain/ports/webhooks.ts';
import { type ExistingWebhook, webhook } from '../../../src/domain/webhook/webhook.ts';
import { createDisableEndpoint } from '../../../src/workers/webhooks/post-once.ts';
import { service } from './opened.ts';

const DAY_MS = 24 * 3_600_000;

/** Interval at which the start of the failures is read again. */
const READ_AGAIN_MS = 60_000;

/** An endpoint that has failed since its registration. `post` records a post and waits until it has been evaluated. */
const failingEndpoint = async () => {
  const outbox = await service();
  const { system, context, organizationId } = outbox;
  const { webhook: registered } = await outbox.webhook('http://127.0.0.1:9', ['message.accepted'], 'test');
  const { webhookId } = registered;
  let failingSince: Date | undefined = system.now();
  let reads = 0;
  let faults = 0;
  let frozen: Date | null = null;
  const disableEndpoint = createDisableEndpoint({
    store: context.store,
    webhookDeliveries: {
      failingSince: async () => {
        reads += 1;
        if (faults > 0) {
          faults -= 1;
          throw new Error('the database is away');
        }
        return new Map(failingSince === undefined ? [] : [[webhookId, failingSince]]);
      },
    },
    system: { ...system, now: () => frozen ?? system.now(), sleep: async () => undefined },
  });
  const endpoint = async (): Promise<ExistingWebhook> => {
    const { state } = await load(context.store, webhook, webhookStream(webhookId));
    if (state.status === 'absent') throw new Error('there is no webhook');
    return state;
  };
  const finishedTry = (status: number, state: FinishedTry['state']): FinishedTry => ({
    ...{ deliveryId: 'delivery', attempt: 1, at: system.now(), status, durationMs: 1, text: '', state },
    ...{ dueAt: system.now(), request: { url: registered.url, headerNames: [], bodyBytes: 0, bodySha256: '' } },
  });
  const origin = {
    ...{ actor: 'user:usr_1', organizationId, environment: 'test' as const, requestId: null },
    ...{ correlationId: 'test', causationId: 'test' },
  };
  return {
    system,
    reads: () => reads,
    state: async () => {
      const { status, disabledReason } = await endpoint();
      return { status, disabledReason };
    },
    post: async (status: number, state: FinishedTry['state'] = 'pending') =>
      disableEndpoint(await endpoint(), finishedTry(status, state), 'evt_1'),
    fails: (since: Date | undefined) => {
      failingSince = since;
    },
    failReads: (count: number) => {
      faults = count;
    },
    /** Stops the clock at this time. */
    freeze: (at: Date) => {
      frozen = at;
    },
    enable: (enabled: boolean) => updateWebhook(context, origin, { webhookId, environment: 'test', enabled }),
  };
};

const ENABLED = { status: 'enabled', disabledReason: null };

describe('a failing endpoint', () => {
  test('is disabled after five days without a success, and not a moment earlier', async () => {
    const failing = await failingEndpoint();
    failing.system.shift(5 * DAY_MS - READ_AGAIN_MS - 5_000);
    await failing.post(500);
    expect(await failing.state()).toEqual(ENABLED);
    failing.system.shift(READ_AGAIN_MS + 5_000);
    await failing.post(500);
    expect(await failing.state()).toEqual({ status: 'disabled', disabledReason: 'failing' });
  });

  test.each([
    [-1, 'enabled'],
    [0, 'disabled'],
  ])('has five days, to the millisecond: %i ms after them it is %s', async (ms, status) => {
    const failing = await failingEndpoint();
    const since = new Date(failing.system.now().getTime() + DAY_MS);
    failing.fails(since);
    failing.freeze(new Date(since.getTime() + 5 * DAY_MS + ms));
    await failing.post(500);
    expect(await failing.state()).toMatchObject({ status });
  });

  test('is disabled even if the database is away for a moment', async () => {
    const failing = await failingEndpoint();
    failing.system.shift(6 * DAY_MS);
    failing.failReads(2);
    await failing.post(500);
    expect([failing.reads(), await failing.state()]).toEqual([3, { status: 'disabled', disabledReason: 'failing' }]);
  });

  test('has five more days once it is enabled again, whatever failed before', async () => {
    const failing = await failingEndpoint();
    failing.system.shift(6 * DAY_MS);
    await failing.post(500);
    expect(await failing.state()).toEqual({ status: 'disabled', disabledReason: 'failing' });
    await failing.enable(true);
    failing.system.shift(READ_AGAIN_MS);
    await failing.post(500);
    expect(await failing.state()).toEqual(ENABLED);
    failing.system.shift(5 * DAY_MS - 2 * READ_AGAIN_MS);
    await failing.post(500);
    expect(await failing.state()).toEqual(ENABLED);
    failing.system.shift(2 * READ_AGAIN_MS);
    await failing.post(500);
    expect(await failing.state()).toEqual({ status: 'disabled', disabledReason: 'failing' });
  });

  test('has five more days after each success', async () => {
    const failing = await failingEndpoint();
    failing.system.shift(6 * DAY_MS);
    failing.fails(undefined);
    await failing.post(500);
    expect(await failing.state()).toEqual(ENABLED);
    failing.fails(failing.system.now());
    failing.system.shift(5 * DAY_MS - READ_AGAIN_MS);
    await failing.post(500);
    expect(await failing.state()).toEqual(ENABLED);
    failing.system.shift(READ_AGAIN_MS);
    await failing.post(500);
    expect(await failing.state()).toEqual({ status: 'disabled', disabledReason: 'failing' });
  });

  test('is evaluated once a minute, and not after a successful post', async () => {
    const failing = await failingEndpoint();
    for (let time = 0; time < 3; time += 1) await failing.post(500);
    expect(failing.reads()).toBe(1);
    failing.system.shift(READ_AGAIN_MS);
    await failing.post(204, 'delivered');
    expect(failing.reads()).toBe(1);
    await failing.post(500, 'failed');
    expect(failing.reads()).toBe(2);
  });

  test('is disabled at once when it answers 410, even if it was evaluated a moment ago', async () => {
    const failing = await failingEndpoint();
    await failing.post(500);
    expect(await failing.state()).toEqual(ENABLED);
    await failing.post(410, 'failed');
    expect(await failing.state()).toEqual({ status: 'disabled', disabledReason: 'gone' });
    await failing.enable(true);
    expect(await failing.state()).toEqual(ENABLED);
    await failing.post(404, 'failed');
    expect(await failing.state()).toEqual(ENABLED);
  });
});
