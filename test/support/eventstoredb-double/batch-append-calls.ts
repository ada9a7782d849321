import { createRequire } from 'node:module';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import statusMessages from '@eventstore/db-client/generated/status_pb.js';
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { acknowledge, notLeader, refusal } from './append-calls.ts';
import { proposedEvent, streamIdentifier, streamName, uuidText } from './messages.ts';
import type { ServerState } from './server-state.ts';
import { type AppendOutcome, MAX_APPEND_BYTES, type ProposedAppend, type ProposedEvent } from './stored-log.ts';

type Status = InstanceType<typeof statusMessages.Status>;
type WrongExpectedVersion = InstanceType<typeof shared.WrongExpectedVersion>;

/** The client's own copy of the well-known messages. It rejects those of another copy. */
const requireOfClient = createRequire(createRequire(import.meta.url).resolve('@eventstore/db-client'));
const { Any }: { Any: new () => NonNullable<ReturnType<Status['getDetails']>> } = requireOfClient(
  'google-protobuf/google/protobuf/any_pb.js',
);
const {
  Empty,
}: {
  Empty: new () => NonNullable<ReturnType<WrongExpectedVersion['getCurrentNoStream']>> & {
    serializeBinary(): Uint8Array;
  };
} = requireOfClient('google-protobuf/google/protobuf/empty_pb.js');

const expectedOf = (options: BatchAppendReq.Options): ProposedAppend['expected'] => {
  if (options.hasAny()) return 'any';
  if (options.hasNoStream()) return 'no-stream';
  if (options.hasStreamExists()) return 'stream-exists';
  return Number(options.getStreamPosition());
};

type RefusedAppend = Exclude<AppendOutcome, { kind: 'written' }>;

/** Name and bytes of the message with the reason. */
const detailsOf = (outcome: RefusedAppend): readonly [string, Uint8Array] => {
  switch (outcome.kind) {
    case 'wrong-revision': {
      const wrong = new shared.WrongExpectedVersion();
      if (outcome.current === 'no-stream') wrong.setCurrentNoStream(new Empty());
      else wrong.setCurrentStreamRevision(String(outcome.current));
      return ['event_store.client.WrongExpectedVersion', wrong.serializeBinary()];
    }
    case 'too-large': {
      const tooLarge = new shared.MaximumAppendSizeExceeded();
      tooLarge.setMaxappendsize(MAX_APPEND_BYTES);
      return ['event_store.client.MaximumAppendSizeExceeded', tooLarge.serializeBinary()];
    }
    case 'bad-request':
      return ['event_store.client.BadRequest', new shared.BadRequest().serializeBinary()];
    default:
      return outcome satisfies never;
  }
};

const refused = (outcome: RefusedAppend): Status => {
  const [name, bytes] = detailsOf(outcome);
  const details = new Any();
  details.pack(bytes, name);
  const error = new statusMessages.Status();
  error.setCode(status.UNKNOWN as never); // google.rpc.Code has the same numbers
  error.setMessage(outcome.kind === 'bad-request' ? 'BadRequest' : outcome.kind);
  error.setDetails(details);
  return error;
};

const written = (outcome: Extract<AppendOutcome, { kind: 'written' }>): BatchAppendResp.Success => {
  const position = new shared.AllStreamPosition();
  position.setCommitPosition(String(outcome.position));
  position.setPreparePosition(String(outcome.position));
  const success = new streams.BatchAppendResp.Success();
  success.setCurrentRevision(String(outcome.revision === 'no-stream' ? 0 : outcome.revision));
  success.setPosition(position);
  return success;
};

const respond = (request: BatchAppendReq, stream: string, outcome: AppendOutcome): BatchAppendResp => {
  const response = new streams.BatchAppendResp();
  response.setCorrelationId(request.getCorrelationId());
  response.setStreamIdentifier(streamIdentifier(stream));
  if (outcome.kind === 'written') response.setSuccess(written(outcome));
  else response.setError(refused(outcome));
  return response;
};

type BatchCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;

interface OpenAppend {
  readonly stream: string;
  readonly expected: ProposedAppend['expected'];
  readonly events: ProposedEvent[];
}

const opened = (options: BatchAppendReq.Options | undefined): OpenAppend | undefined =>
  options && { stream: streamName(options.getStreamIdentifier()), expected: expectedOf(options), events: [] };

/** Errors with which a server answers without having looked at the append. Any other error ends the call. */
const NOT_HANDLED = /^Server Is |^No leader info/;

const notHandled = (request: BatchAppendReq, stream: string, message: string): BatchAppendResp => {
  const details = new Any();
  details.pack(new Empty().serializeBinary(), 'google.protobuf.Empty');
  const error = new statusMessages.Status();
  error.setMessage(message);
  error.setDetails(details);
  const response = new streams.BatchAppendResp();
  response.setCorrelationId(request.getCorrelationId());
  response.setStreamIdentifier(streamIdentifier(stream));
  response.setError(error);
  return response;
};

const finish = (state: ServerState, call: BatchCall, request: BatchAppendReq, append: OpenAppend): void => {
  if (call.cancelled) return;
  if (state.isLeader?.() === false) {
    call.emit('error', notLeader());
    return;
  }
  const drop = state.badDays.droppedAppends.shift();
  if (drop === undefined) {
    const response = respond(request, append.stream, state.log.append(append));
    acknowledge(state, () => call.write(response));
  } else if (NOT_HANDLED.test(drop.details)) {
    call.write(notHandled(request, append.stream, drop.details));
  } else {
    call.emit('error', refusal(drop.code, drop.details));
  }
};

/** Streams.BatchAppend: many appends in one call, each in one or more messages under its correlation id. */
export const handleBatchAppend =
  (state: ServerState) =>
  (call: BatchCall): void => {
    const { toll } = state;
    const open = new Map<string, OpenAppend>();
    call.on('data', (request: BatchAppendReq) => {
      const id = uuidText(request.getCorrelationId());
      const append = open.get(id) ?? opened(request.getOptions());
      if (append === undefined) return;
      open.set(id, append);
      append.events.push(...request.getProposedMessagesList().map(proposedEvent));
      if (!request.getIsFinal()) return;
      open.delete(id);
      toll.called('append');
      toll.passed('append', append.events);
      toll.arrive(() => finish(state, call, request, append));
    });
    call.on('error', () => {}); // the caller went away
    call.on('end', () => call.end());
  };
