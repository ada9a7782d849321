import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsGrpc, { type StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams, { type BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { internalsOf } from './eventstoredb-client-internals.ts';
import type { Connection } from './eventstoredb-connection.ts';
import { NoAnswer } from './eventstoredb-faults.ts';
import { withTimeOut } from './eventstoredb-time-out.ts';

/**
 * Appends over one long call (the protocol's `BatchAppend`), as the client does by default and with none of its
 * surprises: what waits for an answer belongs to its own call, a late answer is ignored, and a call that has gone silent
 * is given up. A call for each append costs nearly three times the processor time.
 *
 * The server takes the appends of a call in the order in which they were written to it, one after another.
 */

/** An event as it is sent. */
export interface EncodedEvent {
  readonly id: string;
  readonly type: string;
  /** JSON. */
  readonly data: Uint8Array;
  /** JSON. */
  readonly metadata: Uint8Array;
}

export type ExpectedRevision = number | 'no-stream';

/** The call ended before this append was answered: it may have been written, or never have been read. */
export class CallEnded extends Error {
  override readonly name = 'CallEnded';
}

/** Bytes of events in a message of the protocol. A server refuses messages of 4 MB; small ones cost. */
const MESSAGE_BYTES_MAX = 1_000_000;

type Call = ReturnType<StreamsClient['batchAppend']>;

interface Waiting {
  readonly resolve: (answer: BatchAppendResp) => void;
  readonly reject: (reason: unknown) => void;
}

interface OpenCall {
  readonly call: Call;
  readonly waiting: Map<string, Waiting>;
  answeredMs: number;
  ended: CallEnded | null;
}

export interface AppendCall {
  /**
   * The server's answer, which may be a refusal. Where a call is open, the append is in it when this returns, behind all
   * earlier ones.
   * @throws {CallEnded} @throws {NoAnswer}; whatever kept a call from being opened: nothing was sent.
   */
  send(stream: string, expected: ExpectedRevision, events: readonly EncodedEvent[]): Promise<BatchAppendResp>;
}

type AppendCallOptions = Pick<Connection, 'client' | 'system' | 'timeOut'>;

const uuid = (text: string): InstanceType<typeof shared.UUID> => {
  const message = new shared.UUID();
  message.setString(text);
  return message;
};

const optionsOf = (stream: string, expected: ExpectedRevision): InstanceType<typeof streams.BatchAppendReq.Options> => {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream, 'utf8'));
  const options = new streams.BatchAppendReq.Options();
  options.setStreamIdentifier(identifier);
  if (expected === 'no-stream')
    options.setNoStream(new shared.Empty() as never); // the same on the wire as Google's
  else options.setStreamPosition(String(expected));
  // No deadline: the protocol has it as a time of day, which another clock takes for another. Ours is by our own timer.
  return options;
};

const proposed = (event: EncodedEvent): InstanceType<typeof streams.BatchAppendReq.ProposedMessage> => {
  const message = new streams.BatchAppendReq.ProposedMessage();
  message.setId(uuid(event.id));
  message.getMetadataMap().set('type', event.type).set('content-type', 'application/json');
  message.setData(event.data);
  message.setCustomMetadata(event.metadata);
  return message;
};

/** Events of so many bytes together, one at least. */
const partsOf = (events: readonly EncodedEvent[]): readonly (readonly EncodedEvent[])[] => {
  const parts: EncodedEvent[][] = [];
  let bytes = MESSAGE_BYTES_MAX;
  for (const event of events) {
    const size = event.data.length + event.metadata.length;
    if (bytes + size > MESSAGE_BYTES_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(event);
    bytes += size;
  }
  return parts;
};

export const createAppendCall = ({ client, system, timeOut }: AppendCallOptions): AppendCall => {
  const internals = internalsOf(client);
  let opening: Promise<OpenCall> | undefined;
  let open: OpenCall | undefined;

  const begin = async (): Promise<OpenCall> => {
    const waiting: OpenCall['waiting'] = new Map();
    const creator = internals.GRPCStreamCreator(streamsGrpc.StreamsClient, 'batchAppend', (grpc) => {
      const [metadata, options] = internals.callArguments({ requiresLeader: true }, { deadline: Infinity });
      return grpc.batchAppend(metadata, options).on('error', () => {}); // heard below; the client listens too
    });
    const one: OpenCall = { call: await creator(), waiting, answeredMs: system.monotonicMs(), ended: null };
    const end = (reason?: Error): void => {
      one.ended ??= new CallEnded(reason?.message ?? 'the server ended the call', { cause: reason });
      if (open === one) open = undefined;
      for (const { reject } of waiting.values()) reject(one.ended);
      waiting.clear();
    };
    one.call.on('error', end);
    one.call.on('end', () => end());
    one.call.on('data', (answer: BatchAppendResp) => {
      one.answeredMs = system.monotonicMs();
      const id = answer.getCorrelationId()?.getString() ?? '';
      waiting.get(id)?.resolve(answer);
      waiting.delete(id);
    });
    open = one;
    return one;
  };

  const openOne = (): Promise<OpenCall> => {
    opening ??= begin().finally(() => {
      opening = undefined;
    });
    return opening;
  };

  const write = (
    { call }: OpenCall,
    id: string,
    ...[stream, expected, events]: Parameters<AppendCall['send']>
  ): void => {
    const parts = partsOf(events);
    for (const [index, part] of parts.entries()) {
      const request = new streams.BatchAppendReq();
      request.setCorrelationId(uuid(id));
      if (index === 0) request.setOptions(optionsOf(stream, expected));
      request.setProposedMessagesList(part.map(proposed));
      request.setIsFinal(index === parts.length - 1);
      call.write(request);
    }
  };

  /** Silent for all that wait: the next append opens another. */
  const giveUp = (one: OpenCall): void => {
    if (open === one) open = undefined;
    one.call.cancel();
  };

  const answer = async (one: OpenCall, id: string, promise: Promise<BatchAppendResp>): Promise<BatchAppendResp> => {
    const sentMs = system.monotonicMs();
    try {
      return await withTimeOut(timeOut, promise);
    } catch (error) {
      one.waiting.delete(id);
      if (error instanceof NoAnswer && one.answeredMs < sentMs) giveUp(one);
      throw error;
    }
  };

  return {
    send: async (...append) => {
      const one = open ?? (await openOne());
      if (one.ended !== null) throw one.ended;
      const id = system.uuid();
      const { promise, resolve, reject } = Promise.withResolvers<BatchAppendResp>();
      one.waiting.set(id, { resolve, reject });
      write(one, id, ...append);
      return answer(one, id, promise);
    },
  };
};
