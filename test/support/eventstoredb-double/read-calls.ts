import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { type ServerWritableStream, type ServiceError, status } from '@grpc/grpc-js';
import { refusal } from './append-calls.ts';
import type { Method } from './costs.ts';
import { eventMessage, notFoundMessage, streamName } from './messages.ts';
import type { ServerState } from './server-state.ts';
import type { StoredLog, StoredRecord } from './stored-log.ts';
import { serveSubscription } from './subscription.ts';

const BACKWARDS = 1;

export type ReadCall = ServerWritableStream<ReadReq, ReadResp>;

const isBackwards = (options: ReadReq.Options): boolean => Number(options.getReadDirection()) === BACKWARDS;

/** All records of the stream in the requested direction, or the stream's name if it does not exist. */
const readStream = (options: ReadReq.Options, log: StoredLog): readonly StoredRecord[] | string => {
  const from = options.getStream();
  const name = streamName(from?.getStreamIdentifier());
  const records = log.stream(name);
  if (records.length === 0) return name;
  const revision = from?.hasRevision() ? Number(from.getRevision()) : undefined;
  return isBackwards(options)
    ? records.slice(0, (revision ?? records.length) + 1).toReversed()
    : records.slice(revision ?? 0);
};

/** @throws if no event starts at the position. A position beyond the end is merely empty. */
const boundary = (log: StoredLog, position: number): number => {
  const count = log.countTo(position);
  const isBoundary = count === log.records.length || log.records[count - 1]?.position === position;
  if (!isBoundary) throw refusal(status.UNKNOWN, 'Unexpected ReadAllResult: Error');
  return count;
};

/**
 * Number of records before the position. A forward read includes the record at the position, a backward read does not.
 */
const countBefore = (log: StoredLog, position: number): number => {
  const count = boundary(log, position);
  return log.records[count - 1]?.position === position ? count - 1 : count;
};

const readAll = (options: ReadReq.Options, log: StoredLog): readonly StoredRecord[] => {
  const from = options.getAll();
  const position = from?.hasPosition() ? Number(from.getPosition()?.getCommitPosition()) : undefined;
  const count = Number(options.getCount());
  if (!isBackwards(options)) {
    const first = position === undefined ? 0 : countBefore(log, position);
    return log.records.slice(first, first + count);
  }
  const end = position === undefined ? log.records.length : countBefore(log, position);
  return log.records.slice(Math.max(0, end - count), end).toReversed();
};

/** Ends the call with a status; `destroy` would send none. */
export const fail = (call: ReadCall, error: ServiceError): void => {
  call.emit('error', error);
};

/** Resolves when the caller has read all that was written, or has gone. */
export const drained = (call: ReadCall): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      call.off('drain', done);
      call.off('cancelled', done);
      resolve();
    };
    call.on('drain', done);
    call.on('cancelled', done);
  });

const send = async (
  { toll }: ServerState,
  call: ReadCall,
  records: readonly StoredRecord[],
  { method, scan }: { readonly method: Method; readonly scan?: () => Promise<void> },
): Promise<void> => {
  for (const record of records) {
    await scan?.();
    if (call.cancelled) return;
    toll.passed(method, [record]);
    if (!call.write(eventMessage(record))) await drained(call);
  }
  call.end();
};

const serveStream = async (state: ServerState, call: ReadCall, options: ReadReq.Options): Promise<void> => {
  const { toll, log } = state;
  toll.called('readStream');
  toll.streamRead(streamName(options.getStream()?.getStreamIdentifier()));
  await toll.placed(call, async () => {
    const found = readStream(options, log);
    if (typeof found === 'string') {
      call.write(notFoundMessage(found));
      call.end();
    } else {
      await send(state, call, found.slice(0, Number(options.getCount())), { method: 'readStream' });
    }
  });
};

const serveAll = async (state: ServerState, call: ReadCall, options: ReadReq.Options): Promise<void> => {
  const { toll, log } = state;
  toll.called('readAll');
  // Real servers do the same: they search for the end of the page and never find it.
  if (!isBackwards(options) && Number(options.getCount()) === 0) return;
  await toll.placed(call, ({ scan }) => send(state, call, readAll(options, log), { method: 'readAll', scan }));
};

const handlerFor = (options: ReadReq.Options): typeof serveStream => {
  if (options.hasSubscription()) return serveSubscription;
  return options.hasStream() ? serveStream : serveAll;
};

const serve = (state: ServerState, call: ReadCall): void => {
  const drop = state.badDays.droppedReads.shift();
  if (drop !== undefined) throw refusal(drop.code, drop.details);
  const options = call.request.getOptions();
  if (options === undefined) throw refusal(status.INVALID_ARGUMENT, 'no options');
  handlerFor(options)(state, call, options).catch((error: ServiceError) => fail(call, error));
};

/** Streams.Read: reads of streams and of the whole log, and subscriptions to the whole log. */
export const handleRead =
  (state: ServerState) =>
  (call: ReadCall): void => {
    call.on('error', () => {}); // the caller went away
    try {
      serve(state, call);
    } catch (error) {
      fail(call, error as ServiceError); // a `refusal`
    }
  };
