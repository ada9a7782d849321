import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { type EventStore, LOG_START, LogReplaced } from '../../../src/domain/kernel/event-store.ts';
import { createLogGuard, type LogGuard } from '../../../src/lib/event-log/event-log.ts';
import { follow } from './following.ts';
import { events, first, newStream } from './samples.ts';

/** A log whose server can return with another log. Connections break in between. */
export interface ReplaceableLog {
  readonly store: EventStore;
  /** Restores the state before the last `events` events. */
  comesBackShorterBy(events: number): Promise<void>;
  comesBackEmpty(): Promise<void>;
  /** Returns with another id, and a longer log than before. */
  comesBackAsAnother(): Promise<void>;
  close(): Promise<void>;
}

const QUICK = { lookEveryMs: 100, behindMsMax: 80 };
/** Much longer than the guard needs to be certain. */
const CERTAIN_MS = 4_000;

/** No event may be appended to another log than the service's own. The contract is the same on every engine. */
export const replacedLogContract = (name: string, open: () => Promise<ReplaceableLog>): void => {
  describe(`a log ${name} that is replaced under a running service`, () => {
    const openGuarded = async () => {
      const log = await open();
      onTestFinished(log.close);
      const error = vi.fn();
      const logger = { debug: () => {}, info: () => {}, warn: () => {}, error };
      const guard = await createLogGuard({ store: log.store, system: createSystem(), logger, ...QUICK });
      onTestFinished(guard.close);
      const store = guard.guard(log.store);
      for (let n = 0; n < 3; n += 1) await store.append(first(newStream(), events(1)));
      return { log, guard, store, error };
    };

    const isCertain = (guard: LogGuard): Promise<void> =>
      vi.waitFor(() => expect(guard.replaced()).toBeInstanceOf(LogReplaced), { timeout: CERTAIN_MS });

    const WAYS = {
      'by an older copy': (log: ReplaceableLog) => log.comesBackShorterBy(2),
      'by an empty one': (log: ReplaceableLog) => log.comesBackEmpty(),
      'by another, longer one': (log: ReplaceableLog) => log.comesBackAsAnother(),
    } as const;

    it.each(Object.keys(WAYS) as (keyof typeof WAYS)[])('%s confirms no append, from the first on', async (way) => {
      const { log, guard, store, error } = await openGuarded();
      await WAYS[way](log);
      for (let turn = 0; turn < 5; turn += 1) {
        await expect(store.append(first(newStream(), events(1)))).rejects.toThrow();
      }
      await isCertain(guard);
      await expect(store.append(first(newStream(), events(1)))).rejects.toBeInstanceOf(LogReplaced);
      await expect(store.head()).rejects.toBeInstanceOf(LogReplaced);
      await expect(store.readAll({ limit: 1 })).rejects.toBeInstanceOf(LogReplaced);
      expect(error).toHaveBeenCalledTimes(1);
      expect(error.mock.calls[0]?.[1]).toMatch(/replaced by .*: the service accepts no more requests/);
    });

    it.each(Object.keys(WAYS) as (keyof typeof WAYS)[])(
      '%s is noticed even by a process that only follows',
      async (way) => {
        const { log, guard, store } = await openGuarded();
        const following = follow(store, LOG_START);
        await following.saw(3);
        following.ended.catch(() => undefined); // or it waits forever, which is fine
        await WAYS[way](log);
        await isCertain(guard);
        await following.stop().catch(() => undefined);
      },
    );

    it('continues if it comes back unchanged', async () => {
      const { log, guard, store } = await openGuarded();
      await log.comesBackShorterBy(0);
      await vi.waitFor(() => store.append(first(newStream(), events(1))), { timeout: CERTAIN_MS });
      expect(await store.head()).not.toBe(LOG_START);
      expect(guard.replaced()).toBeNull();
    });

    it('may confirm a repeated append at its old position', async () => {
      const { guard, store } = await openGuarded();
      const append = first(newStream(), events(1));
      const appended = await store.append(append);
      await store.append(first(newStream(), events(1)));
      expect(await store.append(append)).toEqual(appended);
      expect(guard.replaced()).toBeNull();
    });
  });
};
