import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { AppendReq, AppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, type ServerReadableStream, type ServiceError, type sendUnaryData, status } from '@grpc/grpc-js';
import { proposedEvent, streamName } from './messages.ts';
import type { ServerState } from './server-state.ts';
import { type AppendOutcome, MAX_APPEND_BYTES, type ProposedAppend } from './stored-log.ts';

const expectedOf = (options: AppendReq.Options): ProposedAppend['expected'] => {
  if (options.hasAny()) return 'any';
  if (options.hasNoStream()) return 'no-stream';
  if (options.hasStreamExists()) return 'stream-exists';
  return Number(options.getRevision());
};

const written = (outcome: Extract<AppendOutcome, { kind: 'written' }>): AppendResp => {
  const position = new streams.AppendResp.Position();
  position.setCommitPosition(String(outcome.position));
  position.setPreparePosition(String(outcome.position));
  const success = new streams.AppendResp.Success();
  if (outcome.revision === 'no-stream') success.setNoStream(new shared.Empty());
  else success.setCurrentRevision(String(outcome.revision));
  success.setPosition(position);
  const response = new streams.AppendResp();
  response.setSuccess(success);
  return response;
};

const wrongRevision = (expected: ProposedAppend['expected'], current: number | 'no-stream'): AppendResp => {
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (current === 'no-stream') wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(String(current));
  if (expected === 'no-stream') wrong.setExpectedNoStream(new shared.Empty());
  else if (expected === 'any') wrong.setExpectedAny(new shared.Empty());
  else if (expected === 'stream-exists') wrong.setExpectedStreamExists(new shared.Empty());
  else wrong.setExpectedRevision(String(expected));
  const response = new streams.AppendResp();
  response.setWrongExpectedVersion(wrong);
  return response;
};

/** A rejection as gRPC carries it. The client distinguishes its errors by `exception`. */
export const refusal = (code: status, details: string, facts: Readonly<Record<string, string>> = {}): ServiceError => {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(facts)) metadata.set(key, value);
  return Object.assign(new Error(details), { code, details, metadata });
};

/** The answer of a node that is not the leader of its cluster: nothing was written. */
export const notLeader = (): ServiceError =>
  refusal(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': 'localhost',
    'leader-endpoint-port': '0',
  });

const answer = (append: ProposedAppend, outcome: AppendOutcome): AppendResp => {
  switch (outcome.kind) {
    case 'written':
      return written(outcome);
    case 'wrong-revision':
      return wrongRevision(append.expected, outcome.current);
    case 'too-large':
      throw refusal(status.INVALID_ARGUMENT, `Maximum Append Size of ${MAX_APPEND_BYTES} Exceeded.`, {
        exception: 'maximum-append-size-exceeded',
        'maximum-append-size': String(MAX_APPEND_BYTES),
      });
    case 'bad-request':
      throw refusal(status.UNKNOWN, 'Exception was thrown by handler.');
    default:
      return outcome satisfies never;
  }
};

/** Acknowledges an append that has just been written, unless a fault is set. */
export const acknowledge = (state: ServerState, acknowledged: () => void): void => {
  const { badDays } = state;
  if (badDays.unansweredAppends > 0) {
    badDays.unansweredAppends -= 1;
  } else if (badDays.unacknowledgedAppends > 0) {
    badDays.unacknowledgedAppends -= 1;
    state.cutConnections();
  } else {
    acknowledged();
  }
};

const finish = (state: ServerState, append: ProposedAppend, callback: sendUnaryData<AppendResp>): void => {
  try {
    const drop = state.badDays.droppedAppends.shift();
    if (drop !== undefined) throw refusal(drop.code, drop.details);
    if (state.isLeader?.() === false) throw notLeader();
    const response = answer(append, state.log.append(append));
    acknowledge(state, () => callback(null, response));
  } catch (error) {
    callback(error as ServiceError); // a `refusal`
  }
};

/** Streams.Append: one call per append. Its first message holds the options. */
export const handleAppend =
  (state: ServerState) =>
  (call: ServerReadableStream<AppendReq, AppendResp>, callback: sendUnaryData<AppendResp>): void => {
    let options: AppendReq.Options | undefined;
    const events: ProposedAppend['events'][number][] = [];
    call.on('data', (message: AppendReq) => {
      if (message.hasOptions()) options = message.getOptions();
      else events.push(proposedEvent(message.getProposedMessage()));
    });
    call.on('error', () => {}); // the caller went away
    call.on('end', () => {
      if (options === undefined || call.cancelled) return;
      const stream = streamName(options.getStreamIdentifier());
      const append = { stream, expected: expectedOf(options), events };
      state.toll.called('append');
      state.toll.passed('append', events);
      state.toll.arrive(() => finish(state, append, callback));
    });
  };
