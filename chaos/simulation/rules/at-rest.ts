import { isDeepStrictEqual } from 'node:util';
import { fold } from '../../../src/domain/kernel/aggregate.ts';
import type { RecordedEvent, StreamName } from '../../../src/domain/kernel/event-store.ts';
import { type ExistingMessage, isOpen, message, messageStatus } from '../../../src/domain/message/message.ts';
import { suppressedOnce } from '../../harness/verdicts/suppressed-once.ts';
import { rebuilt } from '../parts/read-models.ts';
import type { World } from '../world.ts';

const streamsOf = ({ log }: World): ReadonlyMap<StreamName, readonly RecordedEvent[]> =>
  Map.groupBy(
    log.events().map(({ event }) => event),
    ({ stream }) => stream,
  );

/** Replays every message from the log. */
const messagesOf = (world: World): readonly ExistingMessage[] =>
  [...streamsOf(world)].flatMap(([stream, events]) => {
    if (!stream.startsWith('message-')) return [];
    const state = fold(message, events);
    return state.status === 'absent' ? [] : [state];
  });

const judgeMessages = (world: World): void => {
  const rows = world.readModels.tables.get('messages');
  for (const state of messagesOf(world)) {
    const { messageId } = state.accepted;
    const open = state.recipients.filter(({ status }) => isOpen(status));
    for (const { id, status } of open) world.violate('accepted is settled', `${id} of ${messageId} is still ${status}`);
    const shown = rows?.get(messageId)?.status;
    const { status } = messageStatus(state.recipients);
    if (shown !== status) world.violate('read models', `${messageId} is shown as ${String(shown)}, and is ${status}`);
  }
};

/** Read models built batch by batch, with failures in between, must equal a rebuild in one pass. */
const judgeReadModels = async (world: World): Promise<void> => {
  for (const [name, rows] of await rebuilt(world.log)) {
    const stored = world.readModels.tables.get(name);
    for (const key of new Set([...rows.keys(), ...(stored?.keys() ?? [])])) {
      if (isDeepStrictEqual(rows.get(key), stored?.get(key))) continue;
      world.violate('read models', `the row ${key} of ${name} differs from that of a rebuild`);
    }
  }
};

/** The endpoint was registered before anything happened, so it must receive every event and no others. */
const judgeWebhooks = ({ owed: { eventIds }, receiver, violate }: World): void => {
  for (const id of eventIds) if (!receiver.posted.has(id)) violate('webhooks', `${id} was never posted`);
  for (const id of receiver.posted.keys()) if (!eventIds.has(id)) violate('webhooks', `${id} was posted and never was`);
};

const judgeKeys = ({ ground, log, readModels, violate }: World): void => {
  const now = new Date(ground.startMs + ground.scheduler.nowMs()).toISOString();
  for (const [keyId, { status, expiresAt, expiryNoted }] of readModels.tables.get('api_keys') ?? []) {
    const isOver = status === 'active' && typeof expiresAt === 'string' && expiresAt < now;
    if (isOver && expiryNoted !== true) violate('scenario', `no event says that ${keyId} has expired`);
  }
  if (log.events().length === 0) violate('scenario', 'nothing was ever written');
};

/** An event that two processes read must be recorded once. */
const judgeSuppressions = ({ log, violate }: World): void => {
  const events = log.events().map(({ event }) => event);
  for (const { promise, what } of suppressedOnce({ events })) violate(promise, what);
};

/** Rules that hold when all faults are over and no work is left. */
export const judgeAtRest = async (world: World): Promise<void> => {
  judgeMessages(world);
  judgeWebhooks(world);
  judgeKeys(world);
  judgeSuppressions(world);
  await judgeReadModels(world);
};
