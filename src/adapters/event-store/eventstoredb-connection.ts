import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Semaphore } from '../../async/semaphore.ts';
import { StoreUnavailable } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import { clientFor, type Lane } from './eventstoredb-client.ts';
import { internalsOf } from './eventstoredb-client-internals.ts';
import { createCallSlots, type TimeOut, withTimeOut } from './eventstoredb-time-out.ts';
import { hostsOf } from './eventstoredb-url.ts';

/**
 * Reads open at once. A server works few at a time: sixty-four of them kept each other waiting for three seconds on two
 * cores. A connection carries 100 calls, and what comes on top hangs without a word. Fewer costs throughput where the
 * server is far away.
 */
const READS_MAX = 16;
/** Appends unanswered at once: they share one call. More is memory; fewer costs throughput where the server is far away. */
const APPENDS_MAX = 256;

/** One client and what all of its calls go through. */
export interface Connection {
  readonly client: EventStoreDBClient;
  /** For messages: the URL may hold a password. */
  readonly hosts: string;
  readonly system: System;
  readonly timeOut: TimeOut;
  /** Of reads. */
  readonly slots: Semaphore;
  readonly appendSlots: Semaphore;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
  /** @throws {StoreUnavailable} once closed. */
  assertOpen(): void;
  /** Refuses what comes, lets `settled` end, and lets go of the server. */
  close(settled: () => Promise<void>): Promise<void>;
}

export const connect = (url: string, lane: Lane, system: System, callTimeOutMs: number): Connection => {
  const client = clientFor(url, lane);
  const timeOut = { system, ms: callTimeOutMs };
  const closing = new AbortController();
  return {
    client,
    hosts: hostsOf(url),
    system,
    timeOut,
    slots: createCallSlots(READS_MAX, timeOut),
    appendSlots: createCallSlots(APPENDS_MAX, timeOut),
    closing: closing.signal,
    assertOpen: () => {
      if (closing.signal.aborted) throw new StoreUnavailable('the event store is closed');
    },
    close: async (settled) => {
      closing.abort();
      await settled();
      await withTimeOut(timeOut, client.dispose()).catch(() => {}); // a server that is away does not hold us up
      // `dispose` leaves the channel open; only this closes its sockets.
      const channel = await withTimeOut(timeOut, internalsOf(client).getChannel()).catch(() => undefined);
      channel?.close();
    },
  };
};
