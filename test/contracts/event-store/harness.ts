import { it } from 'vitest';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { slowness } from '../../support/slowness.ts';

/**
 * Things that an adapter's server can be made to do. Tests that need more than a harness supports are skipped.
 * - `outage`: `server.stop` and `server.start`
 * - `freeze`: `server.freeze` and `server.thaw`
 * - `lost-answer`: `loseNextAnswer`
 * - `other-process`: `openAnother`
 * - `metered`: `receivedBytes`
 */
export type Capability = 'outage' | 'freeze' | 'lost-answer' | 'other-process' | 'metered';

export interface ServerSwitch {
  /** Breaks connections and refuses new ones. Resolves when done. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops answering. Connections stay open. */
  freeze(): void;
  /** Answers the frozen requests. */
  thaw(): void;
}

/** One log and a store on it. The log may contain other events: the suite only looks at events after `head()`. */
export interface OpenLog {
  readonly store: EventStore;
  readonly server?: ServerSwitch;
  /** Loses the connection, and so the reply, of the next append, which is written. */
  loseNextAnswer?(): void;
  /** A store on the same log with its own connections, like another process. Closed by `close`. */
  openAnother?(): Promise<EventStore>;
  /** Bytes that the server has sent to `store` so far. */
  receivedBytes?(): number;
  close(): Promise<void>;
}

export interface EventStoreHarness {
  readonly name: string;
  readonly supports: readonly Capability[];
  /** Opens a store whose appends and reads time out after about `PATIENCE_MS`, if the adapter allows it. */
  open(): Promise<OpenLog>;
}

const SLOWNESS = slowness();
/** Time-out for opening stores: short enough to test outages quickly, long enough for the current load. */
export const PATIENCE_MS = 1500 * SLOWNESS;
/** Longest time that an unresponsive server may keep a caller waiting, with `PATIENCE_MS`. */
export const GIVE_UP_MS_MAX = 10_000 * SLOWNESS;
/** Longest time for a follower to see an append, including a reconnection. */
export const SEEN_MS_MAX = 15_000 * SLOWNESS;

/** Returns a capability that the harness claims. @throws if it is missing. */
export const claimed = <T>(capability: T | undefined): T => {
  if (capability === undefined) throw new Error('the harness claims a capability that it does not have');
  return capability;
};

/** Defines a test of the contract for harnesses with the required capabilities. */
export const sentence = (
  { supports }: EventStoreHarness,
  needs: readonly Capability[],
  told: string,
  run: () => Promise<void>,
): void => {
  if (needs.every((need) => supports.includes(need))) it(told, run);
};
