import { expect, onTestFinished, test, vi } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import {
  createLogGuard,
  type EventStore,
  LogReplaced,
  PositionNotInLog,
} from '../../../src/lib/event-log/event-log.ts';
import { silentLogger } from '../../support/logger.ts';

/** A log of which only the id and the head are asked. */
const openGuarded = async () => {
  const log = { logId: 'ours', head: '005' };
  const store = { logId: async () => 'ours', look: async () => ({ ...log }) } as unknown as EventStore;
  const onReturned = vi.fn();
  const guard = await createLogGuard({
    store,
    system: createSystem(),
    logger: silentLogger,
    lookEveryMs: 1,
    behindMsMax: 1,
    onReturned,
  });
  onTestFinished(guard.close);
  const looked = vi.spyOn(store, 'look');
  const turns = async (count: number): Promise<void> => {
    const before = looked.mock.calls.length;
    await vi.waitFor(() => expect(looked.mock.calls.length).toBeGreaterThanOrEqual(before + count), {
      timeout: 10_000,
    });
  };
  await turns(2);
  const replace = async (by: Partial<typeof log>): Promise<void> => {
    Object.assign(log, by);
    await vi.waitFor(() => expect(guard.replaced()).toBeInstanceOf(LogReplaced), { timeout: 10_000 });
  };
  return { log, guard, onReturned, turns, replace };
};

test.each([
  ['another log', { logId: 'another', head: '900' }],
  ['an older copy', { head: '003' }],
])('after %s, the return of the right log is reported once, and the process stays closed', async (_name, by) => {
  const { log, guard, onReturned, turns, replace } = await openGuarded();
  await replace(by);
  await turns(3);
  expect(onReturned).not.toHaveBeenCalled();
  Object.assign(log, { logId: 'ours', head: '006' });
  await vi.waitFor(() => expect(onReturned).toHaveBeenCalledTimes(1), { timeout: 10_000 });
  expect(guard.replaced()).toBeInstanceOf(LogReplaced);
});

test('an older copy of the right log is not its return', async () => {
  const { log, onReturned, turns, replace } = await openGuarded();
  await replace({ logId: 'another', head: '900' });
  Object.assign(log, { logId: 'ours', head: '004' });
  await turns(3);
  expect(onReturned).not.toHaveBeenCalled();
});

test('a node that is behind for a moment does not close the process, even if it lacks a position', async () => {
  const log = { isBehind: false };
  const readAll: EventStore['readAll'] = async ({ from = '' }) => {
    if (log.isBehind) throw new PositionNotInLog();
    return { events: [], position: from };
  };
  const store = {
    logId: async () => 'ours',
    look: async () => ({ logId: 'ours', head: log.isBehind ? '003' : '005' }),
    head: async () => '005',
    readAll,
  } as unknown as EventStore;
  const guard = await createLogGuard({
    ...{ store, system: createSystem(), logger: silentLogger },
    ...{ lookEveryMs: 60_000, behindMsMax: 60_000 },
  });
  onTestFinished(guard.close);
  const guarded = guard.guard(store);
  await guarded.head();
  log.isBehind = true;
  await expect(guarded.readAll({ from: '005', limit: 1 })).rejects.toBeInstanceOf(StoreUnavailable);
  expect(guard.replaced()).toBeNull();
  log.isBehind = false;
  expect(await guarded.readAll({ from: '005', limit: 1 })).toEqual({ events: [], position: '005' });
});
