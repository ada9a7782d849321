import { DeadlineExceededError } from '@eventstore/db-client';
import { LogReplaced, PositionNotInLog } from '../../domain/kernel/event-store.ts';
import { type Logger, StoreUnavailable, type System } from '../../lib/async/async.ts';

/** Faults of EventStoreDB: which are transient, how the operator can fix the URL, and how followers recover. */

/** The client never ends a call without an answer: our time-out did. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The call ended before this append was answered. It may have been written, or never read. */
export class CallEnded extends Error {
  override readonly name = 'CallEnded';
}

/** No call could be opened for it in time, or it waited too long for its turn. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
}

/**
 * gRPC's CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL and UNAVAILABLE: all observed in real
 * outages.
 */
const TRANSIENT_CODES: readonly unknown[] = [1, 4, 8, 10, 13, 14];
/** Errors from before anything was sent, or of a server that rejected the call unread: nothing was written. */
const NOT_WRITTEN =
  /No connection established|Name resolution failed|Failed to discover|Server Is (Not Ready|(Too )?Busy)|No leader info/i;

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | undefined)?.code;
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The client reports this in the error's metadata. */
const isNotLeader = (error: unknown): boolean =>
  (error as { readonly metadata?: { get?(name: string): unknown[] } } | undefined)?.metadata
    ?.get?.('exception')
    .includes('not-leader') === true;

/** True if the append that ended with this error cannot have been written. */
export const isNotWritten = (error: unknown): boolean => isNotLeader(error) || NOT_WRITTEN.test(textOf(error));

/** True if the same call may succeed later. */
export const isTransient = (error: unknown): boolean =>
  (error instanceof StoreUnavailable && !(error instanceof LogReplaced)) ||
  error instanceof NoAnswer ||
  error instanceof DeadlineExceededError ||
  TRANSIENT_CODES.includes(codeOf(error)) ||
  isNotWritten(error);

/** Errors for a start position at which no event begins: `InvalidPosition`, or `Error` inside an event. */
const NO_POSITION = /Invalid ?position|Unexpected ReadAllResult/i;

/** Meaning of the client's errors for the URL. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, 'nothing listens there: start the server, or correct host and port in EVENTSTORE_URL'],
  [/ENOTFOUND|EAI_AGAIN|Name resolution/, 'no such host: correct it in EVENTSTORE_URL'],
  [/wrong version number|packet length too long/i, 'the server does not speak TLS: add ?tls=false to EVENTSTORE_URL'],
  [/self.signed|certificate/i, 'its certificate is not trusted: add tlsCAFile=<path> to EVENTSTORE_URL'],
  [/Failed to discover/, 'no node of the cluster answered: correct the hosts in EVENTSTORE_URL'],
  [
    /Access Denied|UNAUTHENTICATED|PERMISSION_DENIED/i,
    'access denied: EVENTSTORE_URL needs a user (esdb://name:password@host) that may read $all and write',
  ],
  [
    /UNIMPLEMENTED|Protocol error|Parse Error/i,
    'what answers there does not speak this protocol: is it EventStoreDB, and does it expect TLS (then no tls=false)?',
  ],
];

const REMEDY = 'start it, or correct EVENTSTORE_URL';

/** One sentence with the server's hosts and the remedy. Never with the URL, which may contain a password. */
export const sentenceOf = (error: unknown, hosts: string): string => {
  const text = textOf(error);
  if (error instanceof NoAnswer) return `${text} (${hosts}): ${REMEDY}`;
  const remedy = REMEDIES.find(([pattern]) => pattern.test(text))?.[1];
  return `cannot use the event store at ${hosts}: ${remedy ?? `${text === '' ? String(error) : text}: ${REMEDY}`}`;
};

/** Converts a client error into the fault reported by a read or a subscription. */
export const readFault = (error: unknown, hosts: string): unknown => {
  if (error instanceof StoreUnavailable) return error;
  if (NO_POSITION.test(textOf(error))) return new PositionNotInLog();
  if (isTransient(error)) return new StoreUnavailable(sentenceOf(error, hosts), { cause: error });
  return codeOf(error) === undefined ? error : new Error(sentenceOf(error, hosts), { cause: error });
};

/** First wait before a new subscription. Shorter hammers a server that is starting; longer delays all followers. */
const RETRY_MS_MIN = 100;
/** Longest wait. Longer notices a recovered server later; shorter makes more attempts during a long outage. */
const RETRY_MS_MAX = 2_000;

interface RecoveryParts {
  readonly system: System;
  readonly hosts: string;
  readonly logger: Logger;
}

/** Recovery of a process's followers while the server is down: one line in the log, and growing waits. */
export interface Recovery {
  /** Waits before another attempt after a fault. @throws the fault if retrying is useless. */
  recover(error: unknown, signal: AbortSignal): Promise<void>;
  /** Reports success, so that the next fault counts as the first of its kind. */
  works(): void;
}

/** Between half and all of a time that doubles with every failure, so that processes do not return in step. */
const retryMs = (failures: number, random: number): number =>
  Math.min(RETRY_MS_MIN * 2 ** (failures - 1), RETRY_MS_MAX) * (0.5 + random / 2);

export const createRecovery = ({ system, hosts, logger }: RecoveryParts): Recovery => {
  let failures = 0;
  return {
    recover: async (error, signal) => {
      if (signal.aborted) return;
      if (!isTransient(error)) throw readFault(error, hosts);
      failures += 1;
      if (failures === 1) logger.warn({ reason: sentenceOf(error, hosts) }, 'lost the event store; subscribing again');
      const [byte = 0] = system.randomBytes(1);
      await system.sleep(retryMs(failures, byte / 255), signal).catch(() => {}); // aborted
    },
    works: () => {
      failures = 0;
    },
  };
};
