import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import { status } from '@grpc/grpc-js';
import { refusal } from './append-calls.ts';
import type { ReadPlace } from './costs.ts';
import { caughtUpMessage, checkpointMessage, confirmationMessage, eventMessage } from './messages.ts';
import { drained, fail, type ReadCall } from './read-calls.ts';
import type { ServerState } from './server-state.ts';
import type { StoredRecord } from './stored-log.ts';

/** Number of events that the server searches at a time if the client names no window. */
const SEARCH_WINDOW = 32;
/** Live events that 23.10 buffers for a reader before it drops it. */
const LIVE_BUFFER = 200;
/** Time between a premature checkpoint and its event: long enough for a client to believe the checkpoint. */
const AHEAD_MS = 30;

type Matches = (record: StoredRecord) => boolean;

const matcher = (options: ReadReq.Options): Matches => {
  const filter = options.getFilter();
  const expression = filter?.getStreamIdentifier() ?? filter?.getEventType();
  if (expression === undefined) return () => true;
  const subject: (record: StoredRecord) => string = filter?.hasStreamIdentifier()
    ? ({ stream }) => stream
    : ({ type }) => type;
  if (expression.getRegex() !== '') {
    const regex = new RegExp(expression.getRegex());
    return (record) => regex.test(subject(record));
  }
  return (record) => expression.getPrefixList().some((prefix) => subject(record).startsWith(prefix));
};

const startOf = ({ log, style }: ServerState, options: ReadReq.Options): number => {
  const from = options.getAll();
  if (from?.hasEnd() === true) return log.records.length;
  if (from?.hasPosition() !== true) return 0;
  const position = Number(from.getPosition()?.getCommitPosition());
  const count = log.countTo(position);
  const beyond = position > (log.records.at(-1)?.position ?? 0);
  if (!beyond && log.records[count - 1]?.position !== position) {
    throw refusal(status.INVALID_ARGUMENT, 'Invalid position');
  }
  // Beyond the end, 24.x is silent until the log reaches the position. 23.10 sends any new event.
  return beyond && style !== '23.10.8' ? Number.POSITIVE_INFINITY : count;
};

/** Sends checkpoints in the configured manner. */
const createCheckpoints = (state: ServerState, call: ReadCall, every: number) => {
  let searched = 0;
  let withheld: number | undefined;
  const send = (position: number): void => {
    call.write(checkpointMessage(position));
  };
  const sendWithheld = (): void => {
    if (withheld === undefined || searched % every !== Math.floor(every / 2)) return;
    send(withheld);
    withheld = undefined;
  };
  const due = (position: number): void => {
    if (state.badDays.checkpoints === 'on-time') send(position);
    if (state.badDays.checkpoints === 'late') withheld = position;
  };
  return {
    /** Runs before the record itself is sent. */
    before: async (record: StoredRecord): Promise<void> => {
      if (state.badDays.checkpoints !== 'ahead') return;
      send(record.position);
      await sleep(AHEAD_MS);
    },
    after: (record: StoredRecord): void => {
      searched += 1;
      sendWithheld();
      if (searched % every === 0) due(record.position);
    },
    caughtUp: (position: number | undefined): void => {
      const tells = state.style !== '23.10.8' && state.badDays.checkpoints === 'on-time';
      if (tells && position !== undefined) send(position);
    },
  };
};

const tooSlow = () =>
  refusal(
    status.ABORTED,
    'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
  );

const follow = async (
  state: ServerState,
  call: ReadCall,
  options: ReadReq.Options,
  place: ReadPlace,
): Promise<void> => {
  const { log, style, toll } = state;
  const matches = matcher(options);
  const filter = options.getFilter();
  const every = (filter?.getCheckpointintervalmultiplier() ?? 1) * (filter?.getMax() || SEARCH_WINDOW);
  const checkpoints = createCheckpoints(state, call, every);
  let index = startOf(state, options);
  let live = false;
  let dropped = false;
  let wake = (): void => {};

  const isTooSlow = (): boolean =>
    style === '23.10.8' && live && log.records.slice(index).filter(matches).length >= LIVE_BUFFER;

  const drop = (): void => {
    if (!dropped) fail(call, tooSlow());
    dropped = true;
  };

  const unwatch = log.watch(() => {
    if (isTooSlow()) drop();
    wake();
  });
  call.on('cancelled', () => wake());
  call.on('close', () => wake());

  const sendNext = async (record: StoredRecord): Promise<void> => {
    index += 1;
    await place.scan();
    if (matches(record)) {
      await checkpoints.before(record);
      toll.passed('subscribe', [record]);
      if (!call.write(eventMessage(record))) await drained(call);
    }
    if (filter !== undefined) checkpoints.after(record);
  };

  const becomeLive = (): void => {
    if (live) return;
    live = true;
    place.leave();
    call.write(caughtUpMessage());
    if (filter !== undefined) checkpoints.caughtUp(log.records[index - 1]?.position);
  };

  call.write(confirmationMessage());
  while (!call.cancelled && !dropped) {
    const record = log.records[index];
    if (record !== undefined) {
      await sendNext(record);
    } else {
      becomeLive();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  unwatch();
};

/** Streams.Read as a subscription to the whole log: existing events, "caught up", then live events. */
export const serveSubscription = async (
  state: ServerState,
  call: ReadCall,
  options: ReadReq.Options,
): Promise<void> => {
  state.toll.called('subscribe');
  await state.toll.placed(call, (place) => follow(state, call, options, place));
};
