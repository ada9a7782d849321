import { describe, expect, onTestFinished, test } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { type LoadedStream, load, type Origin } from '../../../src/commands/execute.ts';
import { cancelMessage, claimAttempt } from '../../../src/commands/message/attempt.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import { messageAccepted } from '../../support/controls/message.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { silentLogger } from '../../support/logger.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { contextAt } from '../../support/specification.ts';

const ROUNDS = 100;
/** Maximum delay of a cancellation, in turns of the event loop. */
const TURNS = 40;
const system = createSystem();
const origin: Origin = {
  actor: 'key:key_1',
  organizationId: 'org_mine',
  environment: 'live',
  requestId: null,
  correlationId: 'test',
  causationId: 'test',
};

/** The event stores of two processes. */
type Logs = readonly [EventStore, EventStore];

const inMemory = async (): Promise<Logs> => {
  const store = createInMemoryEventStore({ codec: eventCodec, system });
  return [store, store];
};

const onPostgres = async (): Promise<Logs> => {
  const { url, drop } = await migratedDatabase();
  const openLog = () => createPostgresEventStore({ url, codec: eventCodec, system, logger: silentLogger });
  const [one, other] = await Promise.all([openLog(), openLog()]);
  onTestFinished(async () => {
    await Promise.all([one.close(), other.close()]);
    await drop();
  });
  return [one, other];
};

type Answer = 'cancelled' | 'claimed' | 'not cancelled' | 'not claimed';

const cancelling = async (store: EventStore, messageId: string): Promise<Answer> => {
  try {
    await cancelMessage({ store, system }, origin, { messageId });
    return 'cancelled';
  } catch (error) {
    if (error instanceof DomainError && error.code === 'message_being_sent') return 'not cancelled';
    throw error;
  }
};

const claiming = async (
  store: EventStore,
  messageId: string,
  known: LoadedStream<Message> | undefined,
): Promise<Answer> => {
  const claim = await claimAttempt({ store, system }, { messageId, leaseMs: 60_000, random: 0.5, known });
  return claim.claimed ? 'claimed' : 'not claimed';
};

/** Results of both commands, and the final status of the recipient. */
const raced = async (logs: Logs, round: number): Promise<string> => {
  const [one, other] = round % 4 < 2 ? logs : ([logs[1], logs[0]] as const);
  const messageId = `msg_${round}`;
  const now = system.now().getTime();
  const expiresAt = new Date(now + 60_000).toISOString();
  await one.append({
    stream: messageStream(messageId),
    expected: 'no-stream',
    context: contextAt(new Date(now).toISOString()),
    events: [{ ...messageAccepted({ messageId, expiresAt }), id: system.uuid() }],
  });
  // Half of the claims use state that was loaded before the race.
  const known = round % 8 < 4 ? undefined : await load(one, message, messageStream(messageId));
  // A claim also checks suppressions, so in memory it would always lose.
  const cancel = async (): Promise<Answer> => {
    for (let turn = 0; turn < round % TURNS; turn += 1) await Promise.resolve();
    return cancelling(one, messageId);
  };
  const asked = [cancel, () => claiming(other, messageId, known)];
  const inTurn = round % 2 === 0 ? asked : asked.toReversed();
  const answers = await Promise.all(inTurn.map((ask) => ask()));
  const { state } = await load(one, message, messageStream(messageId));
  return [...answers.sort(), state.status === 'absent' ? 'absent' : state.recipients[0]?.status].join(', ');
};

describe.each([
  ['in memory', inMemory],
  ['on PostgreSQL, by two processes', onPostgres],
])('concurrent cancellation and claim of a message, %s,', (_where, openLogs) => {
  test(`succeeds for exactly one of the two in ${ROUNDS} rounds, and the answers match the outcome`, async () => {
    const logs = await openLogs();
    const outcomes: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) outcomes.push(await raced(logs, round));
    const WON = ['cancelled, not claimed, cancelled', 'claimed, not cancelled, sending'];
    expect(outcomes.filter((outcome) => !WON.includes(outcome))).toEqual([]);
    expect(new Set(outcomes).size).toBe(2);
  });
});
