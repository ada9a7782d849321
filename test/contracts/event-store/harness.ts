import { it } from 'vitest';
import type { EventStore } from '../../../src/domain/ports/event-store.ts';
import { slowness } from '../../support/slowness.ts';

/**
 * What an adapter's server can be made to do. A harness names what it can; the sentences that need more are not its.
 * - `outage`: `server.stop` and `server.start`
 * - `freeze`: `server.freeze` and `server.thaw`
 * - `lost-answer`: `loseNextAnswer`
 * - `other-process`: `openAnother`
 * - `metered`: `receivedBytes`
 */
export type Capability = 'outage' | 'freeze' | 'lost-answer' | 'other-process' | 'metered';

export interface ServerSwitch {
  /** Connections break, and new ones are refused. Resolves when it is so. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Connections stay open, and nothing is answered any more. */
  freeze(): void;
  /** What was frozen is answered. */
  thaw(): void;
}

/** One log and a store on it. It may hold events of others: the suite looks only at what comes after `head()`. */
export interface OpenLog {
  readonly store: EventStore;
  readonly server?: ServerSwitch;
  /** The next append is written; its answer, and the connection, are lost. */
  loseNextAnswer?(): void;
  /** A store on the same log with connections of its own, as another process would have; closed by `close`. */
  openAnother?(): Promise<EventStore>;
  /** Bytes that the server has sent to `store` so far. */
  receivedBytes?(): number;
  close(): Promise<void>;
}

export interface EventStoreHarness {
  readonly name: string;
  readonly supports: readonly Capability[];
  /** Appends and reads of the store should give up after about `PATIENCE_MS` where its time-outs can be chosen. */
  open(): Promise<OpenLog>;
}

const SLOWNESS = slowness();
/** Time-out to open stores with: short, so that the bad days are tried quickly; long enough for this machine now. */
export const PATIENCE_MS = 1500 * SLOWNESS;
/** Longest that a caller may be kept waiting by a server that does not answer, with `PATIENCE_MS`. */
export const GIVE_UP_MS_MAX = 10_000 * SLOWNESS;
/** Longest that a follower may take to see what was appended, reconnecting included. */
export const SEEN_MS_MAX = 15_000 * SLOWNESS;

/** A capability that the harness claims, or the reason why the test cannot be run. */
export const claimed = <T>(capability: T | undefined): T => {
  if (capability === undefined) throw new Error('the harness claims a capability that it does not have');
  return capability;
};

/** A sentence of the contract for harnesses that have what it needs. */
export const sentence = (
  { supports }: EventStoreHarness,
  needs: readonly Capability[],
  told: string,
  run: () => Promise<void>,
): void => {
  if (needs.every((need) => supports.includes(need))) it(told, run);
};
