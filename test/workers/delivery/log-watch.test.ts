import { describe, expect, test } from 'vitest';
import { LOG_START, type Position } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createLogWatch } from '../../../src/workers/delivery/log-watch.ts';
import { createSteppableSystem } from '../../support/system.ts';

const SETTLE_MS = 5_000;

/** A watched log that answers while `isAway` is false. */
const open = () => {
  const system = createSteppableSystem();
  const log = { isAway: false };
  const head = async (): Promise<Position> => {
    if (log.isAway) throw new StoreUnavailable('the log does not answer');
    return LOG_START;
  };
  const watch = createLogWatch({ head }, system);
  const stopping = new AbortController();
  const ended = watch.work(stopping.signal, () => undefined);
  return {
    ...{ system, log, watch },
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
};

describe('the watch of the log', () => {
  test('is settled from the start, and while the log answers', async () => {
    const { system, watch, stop } = open();
    expect(watch.isSettled()).toBe(true);
    await system.advance(60_000);
    expect([watch.isSettled(), watch.wasAwaySince(0)]).toEqual([true, false]);
    await stop();
  });

  test('is not settled while the log is away, nor for five seconds after it is back', async () => {
    const { system, log, watch, stop } = open();
    log.isAway = true;
    await system.advance(60_000);
    expect(watch.isSettled()).toBe(false);
    log.isAway = false;
    expect(watch.isSettled()).toBe(false);
    await system.advance(SETTLE_MS);
    expect(watch.isSettled()).toBe(false);
    await system.advance(2_000);
    expect(watch.isSettled()).toBe(true);
    await stop();
  });

  test('knows since when the log was not away', async () => {
    const { system, log, watch, stop } = open();
    log.isAway = true;
    await system.advance(3_500);
    log.isAway = false;
    await system.advance(10_000);
    expect(watch.wasAwaySince(3_000)).toBe(true);
    expect(watch.wasAwaySince(6_000)).toBe(false);
    await stop();
  });

  test('counts an outage that goes on as one of now, between two questions too', async () => {
    const { system, log, watch, stop } = open();
    log.isAway = true;
    await system.advance(3_500);
    expect(watch.wasAwaySince(system.monotonicMs())).toBe(true);
    await stop();
  });

  test('is not settled after an append failed, although the log answers reads', async () => {
    const { system, watch, stop } = open();
    await system.advance(2_500);
    watch.noteAway();
    expect([watch.isSettled(), watch.wasAwaySince(2_500)]).toEqual([false, true]);
    await system.advance(SETTLE_MS);
    expect(watch.isSettled()).toBe(true);
    await stop();
  });
});
