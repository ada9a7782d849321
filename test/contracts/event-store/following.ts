import { setTimeout as sleep } from 'node:timers/promises';
import type {
  EventStore,
  Filter,
  FollowedPage,
  Position,
  RecordedEvent,
} from '../../../src/domain/kernel/event-store.ts';
import { SEEN_MS_MAX } from './harness.ts';

const LOOK_MS = 5;

export interface Following {
  readonly pages: readonly FollowedPage[];
  events(): readonly RecordedEvent[];
  /** Resolves once `count` events were seen. Fails after a time limit. */
  saw(count: number): Promise<readonly RecordedEvent[]>;
  /** Settles when the iteration ends, whether or not `stop` ended it. */
  readonly ended: Promise<void>;
  /** Aborts the iteration and waits for its end. Rejects with the error that the iteration threw. */
  stop(): Promise<void>;
}

/** @throws if `condition` does not hold in time. */
export const eventually = async (condition: () => boolean, sentence: () => string): Promise<void> => {
  const end = Date.now() + SEEN_MS_MAX;
  while (!condition()) {
    if (Date.now() > end) throw new Error(sentence());
    await sleep(LOOK_MS);
  }
};

/** Follows `store` in the background and collects every page. `onPage` is awaited before the next page is requested. */
export const follow = (
  store: EventStore,
  after: Position,
  filter: Filter = {},
  onPage: (page: FollowedPage) => Promise<void> | void = () => {},
): Following => {
  const abort = new AbortController();
  const pages: FollowedPage[] = [];
  const events = (): readonly RecordedEvent[] => pages.flatMap((page) => page.events);
  const run = async (): Promise<void> => {
    for await (const page of store.subscribe(after, filter, abort.signal)) {
      pages.push(page);
      await onPage(page);
    }
  };
  const running = run();
  running.catch(() => {}); // `stop` reports the error
  return {
    pages,
    ended: running,
    events,
    saw: async (count) => {
      await eventually(
        () => events().length >= count,
        () => `saw ${events().length} events, not ${count}`,
      );
      return events();
    },
    stop: () => {
      abort.abort();
      return running;
    },
  };
};
