import { MaxAppendSizeExceededError, WrongExpectedVersionError } from '@eventstore/db-client';
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { StoreUnavailable } from '../async/async.ts';
import {
  type Append,
  AppendOutcomeUnknown,
  type AppendResult,
  type EventCodec,
  type StoredAppend,
  type StoredEvent,
  type StreamName,
  WrongExpectedRevision,
} from './event-log.ts';
import {
  type AppendCall,
  CallEnded,
  type Connection,
  isNotWritten,
  isTransient,
  NoAnswer,
  NotSent,
  sentenceOf,
} from './eventstoredb-client.ts';
import { type AppendMessage, type EncodedEvent, type ExpectedRevision, encodeAppend } from './eventstoredb-protocol.ts';
import type { ServerName } from './eventstoredb-url.ts';

/**
 * Appends over one long call (the protocol's `BatchAppend`), like the client does by default but without its surprises:
 * pending appends belong to their own call, a late answer is ignored, and a call that has gone silent is abandoned. A
 * call per append costs nearly three times the processor time.
 */
interface AppendLane {
  /**
   * Resolves to the server's answer, which may be a rejection. Appends are sent in the order of the calls, with a
   * bounded number in flight.
   * @throws {NotSent} @throws {CallEnded} @throws {NoAnswer}
   */
  send(stream: string, expected: ExpectedRevision, events: readonly EncodedEvent[]): Promise<AppendMessage>;
}

interface Waiting {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly EncodedEvent[];
  /** Tick in which it was queued, then in which it was sent. Each wait has the full time-out. */
  tick: number;
  sentMs: number;
  readonly resolve: (answer: AppendMessage) => void;
  readonly reject: (reason: Error) => void;
}

interface OpenCall {
  readonly call: AppendCall;
  /** Unanswered appends by number, the oldest first. */
  readonly sent: Map<number, Waiting>;
  number: number;
  answeredMs: number;
}

/**
 * Parts of a time-out. Waiting is counted in ticks of one timer for all: a timer per append costs as much as encoding
 * it, and time in which this process was stalled, and read no answers, is not held against the server.
 */
const TICKS = 8;

/** Bytes of events in a message. A server rejects messages of 4 MB; small ones cost more. */
const MESSAGE_BYTES_MAX = 1_000_000;

/** Splits events into parts of at most this many bytes, with at least one event each. */
const partsOf = (events: readonly EncodedEvent[]): readonly (readonly EncodedEvent[])[] => {
  const parts: EncodedEvent[][] = [];
  let bytes = MESSAGE_BYTES_MAX;
  for (const event of events) {
    if (bytes + event.bytes > MESSAGE_BYTES_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(event);
    bytes += event.bytes;
  }
  return parts;
};

const write = ({ call, number }: OpenCall, { stream, expected, events }: Waiting): void => {
  const parts = partsOf(events);
  for (const [index, part] of parts.entries()) {
    const to = index === 0 ? { stream, expected } : null;
    call.write(encodeAppend({ number, events: part, to, isLast: index === parts.length - 1 }));
  }
};

const createAppendLane = (connection: Connection, unansweredMax: number): AppendLane => {
  const { callTimeoutMs, system } = connection;
  const queue = new Set<Waiting>();
  let open: OpenCall | null = null;
  let opening = false;
  let tick = 0;
  let timer: NodeJS.Timeout | null = null;

  const noAnswer = (): NoAnswer => new NoAnswer(`the event store did not answer within ${callTimeoutMs} ms`);

  const sendWhatFits = (to: OpenCall): void => {
    for (const waiting of queue) {
      if (to.sent.size >= unansweredMax) return;
      queue.delete(waiting);
      to.number += 1;
      waiting.tick = tick;
      waiting.sentMs = system.monotonicMs();
      to.sent.set(to.number, waiting);
      write(to, waiting);
    }
  };

  const sendQueued = (): void => {
    if (open !== null) sendWhatFits(open);
    else if (queue.size > 0) openCall();
  };

  const rejectQueued = (reason: (waiting: Waiting) => Error | null): void => {
    for (const waiting of queue) {
      const error = reason(waiting);
      if (error === null) return;
      queue.delete(waiting);
      waiting.reject(error);
    }
  };

  const adopt = (call: AppendCall): void => {
    const one: OpenCall = { call, sent: new Map(), number: 0, answeredMs: system.monotonicMs() };
    const end = (reason?: Error): void => {
      if (open === one) open = null;
      const ended = new CallEnded(reason?.message ?? 'the server ended the call', { cause: reason });
      for (const { reject } of one.sent.values()) reject(ended);
      one.sent.clear();
      sendQueued();
    };
    call.on('error', end);
    call.on('end', () => end());
    call.on('data', (answer) => {
      one.answeredMs = system.monotonicMs();
      one.sent.get(answer.number)?.resolve(answer);
      one.sent.delete(answer.number);
      sendQueued();
    });
    open = one;
  };

  const openCall = (): void => {
    if (opening) return;
    opening = true;
    const failed = (error: unknown): void => {
      const text = error instanceof Error ? error.message : String(error);
      rejectQueued(() => new NotSent(text, { cause: error }));
    };
    connection
      .openAppends()
      .then(adopt, failed)
      .finally(() => {
        opening = false;
        sendQueued();
      });
  };

  const rejectUnanswered = ({ call, sent, answeredMs }: OpenCall): void => {
    for (const [number, waiting] of sent) {
      if (tick - waiting.tick < TICKS) return;
      sent.delete(number);
      waiting.reject(noAnswer());
      // The call is silent for all pending appends, so the next append opens another one.
      if (answeredMs < waiting.sentMs) call.cancel();
    }
  };

  const onTick = (): void => {
    tick += 1;
    if (open !== null) rejectUnanswered(open);
    rejectQueued(({ tick: since }) =>
      tick - since < TICKS ? null : new NotSent('too many appends wait for the event store', { cause: noAnswer() }),
    );
    sendQueued();
    if (queue.size > 0 || (open?.sent.size ?? 0) > 0) return;
    clearInterval(timer ?? undefined);
    timer = null;
  };

  return {
    send: (stream, expected, events) => {
      const { promise, resolve, reject } = Promise.withResolvers<AppendMessage>();
      queue.add({ stream, expected, events, tick, sentMs: 0, resolve, reject });
      timer ??= setInterval(onTick, callTimeoutMs / TICKS);
      sendQueued();
      return promise;
    },
  };
};

// The client's own parser for a rejected append.

/** Appends to EventStoreDB: encodes an append of the port, sends it on one of two lanes, and translates a rejection. */

/**
 * Ordinary appends in flight. More queue in the server, and delay urgent ones if it processes a connection one by one;
 * fewer make smaller groups of everything: 64 cost a process short of processor time 40 % of its deliveries.
 */
const ORDINARY_MAX = 256;
/** Urgent appends in flight. They are few: outcomes that are not recorded yet are bounded at their source. */
const URGENT_MAX = 256;

/** Converts a revision in the server's answer. */
const revisionOf = (version: unknown): ExpectedRevision =>
  typeof version === 'bigint' ? Number(version) : 'no-stream';

const faultOf = (error: unknown, stream: StreamName, expected: ExpectedRevision, server: ServerName): unknown => {
  if (error instanceof WrongExpectedVersionError) {
    return new WrongExpectedRevision(stream, expected, revisionOf(error.actualVersion));
  }
  if (error instanceof MaxAppendSizeExceededError) {
    return new RangeError(`an append to ${stream} is larger than the server allows (${error.maxAppendSize} bytes)`);
  }
  const sentence = sentenceOf(error, server);
  if (error instanceof NotSent || isNotWritten(error)) return new StoreUnavailable(sentence, { cause: error });
  return error instanceof CallEnded || isTransient(error)
    ? new AppendOutcomeUnknown(sentence, { cause: error })
    : new Error(`append to ${stream}: ${sentence}`, { cause: error });
};

const refusalOf = (bytes: Uint8Array, stream: StreamName): Error => {
  const refusal = streams.BatchAppendResp.deserializeBinary(bytes).getError();
  if (refusal === undefined) return new Error('the event store answered an append with neither success nor refusal');
  return unpackToCommandError(refusal, stream);
};

/** @throws {WrongExpectedRevision} @throws {AppendOutcomeUnknown} @throws {StoreUnavailable} */
export type AppendEvents = (
  stream: StreamName,
  expected: ExpectedRevision,
  events: readonly EncodedEvent[],
  isUrgent?: boolean,
) => Promise<AppendResult>;

/** Keeps the call order of ordinary appends, and separately that of urgent ones. */
export const createAppendEvents = (connection: Connection): AppendEvents => {
  const ordinary: AppendLane = createAppendLane(connection, ORDINARY_MAX);
  const urgent: AppendLane = createAppendLane(connection, URGENT_MAX);
  return async (stream, expected, events, isUrgent = false) => {
    try {
      const answer = await (isUrgent ? urgent : ordinary).send(stream, expected, events);
      if ('appended' in answer) return answer.appended;
      throw refusalOf(answer.refusal, stream);
    } catch (error) {
      throw faultOf(error, stream, expected, connection.server);
    }
  };
};

const sized = (events: readonly StoredEvent[]): readonly EncodedEvent[] =>
  events.map((event) => ({ ...event, bytes: Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata) }));

/** Stores contents. Durable when it resolves. */
export interface ContentsStore<K = unknown> {
  put(contents: readonly K[]): Promise<void>;
}

interface Appending {
  append(append: Append): Promise<AppendResult>;
  appendStored(append: StoredAppend): Promise<AppendResult>;
  /** Resolves once no append is in flight. */
  settled(): Promise<void>;
}

export const createAppending = (
  { assertOpen }: Pick<Connection, 'assertOpen'>,
  appendEvents: AppendEvents,
  codec: EventCodec,
  contents: ContentsStore,
): Appending => {
  const inFlight = new Set<Promise<unknown>>();

  const append = async (one: Append): Promise<AppendResult> => {
    const { events, context, contents: personal = [] } = one;
    assertOpen();
    const stored = codec.encode(events, context, one);
    if (personal.length > 0) await contents.put(personal);
    return appendStored({ ...one, events: stored });
  };

  const appendStored = async (one: StoredAppend & Pick<Append, 'isUrgent'>): Promise<AppendResult> => {
    const { stream, expected, events, isUrgent = false } = one;
    assertOpen();
    if (events.length === 0) throw new RangeError(`an append of no events to ${stream}`);
    return appendEvents(stream, expected, sized(events), isUrgent);
  };

  const tracked = (appending: Promise<AppendResult>): Promise<AppendResult> => {
    const forget = (): void => {
      inFlight.delete(appending);
    };
    inFlight.add(appending);
    appending.then(forget, forget);
    return appending;
  };

  return {
    append: (one) => tracked(append(one)),
    appendStored: (one) => tracked(appendStored(one)),
    settled: async () => {
      await Promise.allSettled(inFlight);
    },
  };
};
