import {
  AppendOutcomeUnknown,
  type EventStore,
  type Filter,
  type FollowedPage,
  type Page,
  type Position,
} from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import type { Ground } from '../ground.ts';
import type { Fate, Process } from '../process.ts';
import type { Log } from './log.ts';

/** Time-out for a response that does not arrive. */
const TIME_OUT_MS = 2000;
/** After the time-out the server may still process the request until this much later. */
const LATE_MS_MAX = 15_000;
/** Readers poll at this interval in case a notification was lost. */
const POLL_MS = 1000;
const PAGE_SIZES = [1, 3, 50, 500];

const away = (): Error => new StoreUnavailable('the log cannot be reached');
const timeOut = () => ({ afterMs: TIME_OUT_MS, error: new AppendOutcomeUnknown('no answer in time') });

const appendFate = ({ faults, random, latencyMs, plainFate }: Ground): Fate => {
  if (faults.strikes('append refused'))
    return { arrivesAfterMs: null, failure: { afterMs: latencyMs(), error: away() } };
  if (faults.strikes('append lost')) return { arrivesAfterMs: null, failure: timeOut() };
  if (faults.strikes('append unanswered')) return { arrivesAfterMs: latencyMs(), failure: timeOut() };
  if (faults.strikes('append late')) {
    return { arrivesAfterMs: random.between(TIME_OUT_MS, LATE_MS_MAX), failure: timeOut() };
  }
  return plainFate();
};

/** The log as accessed by one process. */
export const processStore = (ground: Ground, log: Log, process: Process): EventStore => {
  const { faults, random, latencyMs } = ground;

  const read = <T>(what: string, work: () => Promise<T>): Promise<T> =>
    process.call({ what, work, fate: ground.fateUnless('read fails', away) });

  /** Resolves after the next append or when the signal aborts. */
  const wakeUp = (signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      stopListening();
      stopMourning();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const stopListening = log.onAppend(() => {
      stopListening();
      process.later(faults.strikes('wake-up late') ? POLL_MS : latencyMs(), 'is woken by the log', end);
    });
    signal.addEventListener('abort', end, { once: true });
    const stopMourning = process.onDeath(stopListening);
    return promise;
  };

  /** Retries until it succeeds, because subscriptions survive an unavailable log. */
  const page = async (from: Position, filter: Filter): Promise<Page> => {
    for (;;) {
      try {
        return await read('follows', () => log.store.readAll({ from, filter, limit: random.pick(PAGE_SIZES) }));
      } catch {
        await process.system.sleep(POLL_MS);
      }
    }
  };

  const nextPage = async (from: Position, filter: Filter, signal: AbortSignal): Promise<Page | null> => {
    while (!signal.aborted) {
      const begunAt = log.events().length;
      const found = await page(from, filter);
      if (found.position > from) return found;
      // Skips the wait if events were appended while the page was in flight.
      if (log.events().length === begunAt) await wakeUp(signal);
    }
    return null;
  };

  async function* subscribe(after: Position, filter: Filter, signal: AbortSignal): AsyncGenerator<FollowedPage> {
    let next = await nextPage(after, filter, signal);
    while (next !== null) {
      yield { ...next, isFull: false };
      next = await nextPage(next.position, filter, signal);
    }
  }

  return {
    isAuthentic: log.store.isAuthentic,
    look: () => read('asks which log it is', log.store.look),
    logId: () => read('asks which log it is', log.store.logId),
    append: (append) =>
      process.call({
        what: `appends ${append.events.map(({ type }) => type).join()} to ${append.stream} after ${append.expected}`,
        work: () => log.append(append, process.name),
        fate: appendFate(ground),
      }),
    appendStored: log.store.appendStored,
    readStream: (stream, options) => read(`reads ${stream}`, () => log.store.readStream(stream, options)),
    readAll: (options) => read('reads the log', () => log.store.readAll(options)),
    head: () => read('asks for the head', log.store.head),
    subscribe,
    close: async () => undefined,
  };
};
