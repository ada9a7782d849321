import type { Filter, FollowedPage, Position } from '../../domain/event-store.ts';
import type { Logger } from '../../domain/logger.ts';
import { isTransient, readFault, sentenceOf } from './eventstoredb-faults.ts';
import { type Followed, follow } from './eventstoredb-follow.ts';

/** First wait before subscribing again. Shorter hammers a server that is starting; longer delays everything behind it. */
const RETRY_MS_MIN = 100;
/** Longest wait: what a recovered server may take to be noticed, against attempts during a long outage. */
const RETRY_MS_MAX = 2000;

/** Between half and all of a time that doubles with every failure, so that followers do not return in step. */
const retryMs = (failures: number, chance: number): number => {
  const ceiling = Math.min(RETRY_MS_MIN * 2 ** (failures - 1), RETRY_MS_MAX);
  return ceiling * (0.5 + chance / 2);
};

/**
 * Follows for ever: subscribes again, from the last page that the consumer has handled, whenever a subscription ends.
 * The client never does.
 */
export const createSubscribe = (followed: Followed, logger: Logger) => {
  const { system, hosts, closing } = followed.connection;

  /** Waits before the next attempt, unless it would be in vain. */
  const recover = async (error: unknown, failures: number, signal: AbortSignal): Promise<void> => {
    if (signal.aborted) return;
    if (!isTransient(error)) throw readFault(error, hosts);
    if (failures === 1) logger.warn({ reason: sentenceOf(error, hosts) }, 'lost the event store; subscribing again');
    const [byte = 0] = system.randomBytes(1);
    await system.sleep(retryMs(failures, byte / 255), signal).catch(() => {}); // aborted
  };

  /** The pages of one subscription, and of the next when it ends; the consumer has handled a page once it asks on. */
  async function* forever(after: Position, filter: Filter, signal: AbortSignal): AsyncGenerator<FollowedPage> {
    let position = after;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        for await (const page of follow(followed, position, filter, signal)) {
          failures = 0;
          yield page;
          position = page.position;
        }
      } catch (error) {
        await recover(error, failures + 1, signal);
      }
    }
  }

  return (after: Position, filter: Filter, signal: AbortSignal): AsyncIterable<FollowedPage> =>
    forever(after, filter, AbortSignal.any([signal, closing]));
};
