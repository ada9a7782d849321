import { createKeyCacheProjection, workingAdminKeys } from '../../../src/domain/api-key/key-cache-projection.ts';
import { categoryOf, type RecordedEvent, type StreamName } from '../../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import type { World } from '../world.ts';
import { createMessageHistory, type MessageHistory } from './message-history.ts';

/** Each event must be allowed by the earlier events of its stream. */
const watchMessages = ({ log, violate }: World): void => {
  const histories = new Map<StreamName, MessageHistory>();
  log.onEvent(({ event }) => {
    if (categoryOf(event.stream) !== 'message') return;
    const history = histories.get(event.stream) ?? createMessageHistory();
    histories.set(event.stream, history);
    const problem = history.next(event as RecordedEvent<MessageEvent>);
    if (problem !== null) violate('scenario', `${event.type} of ${event.stream} ${problem}`);
  });
};

/** Revisions must have no gaps, and positions must increase. */
const watchRevisions = ({ log, violate }: World): void => {
  const revisions = new Map<StreamName, number>();
  let last = '';
  log.onEvent(({ event: { stream, revision, position } }) => {
    if (revision !== (revisions.get(stream) ?? -1) + 1) violate('scenario', `${stream} has a gap before ${revision}`);
    if (position <= last) violate('scenario', `the log goes backwards at ${position}`);
    revisions.set(stream, revision);
    last = position;
  });
};

/** Concurrent changes of keys must leave at least one working admin key. */
export const watchAdminKeys = ({ ground, log, violate }: World, organizationId: string): void => {
  const keyCache = createKeyCacheProjection();
  for (const { event } of log.events()) keyCache.apply(event);
  log.onEvent(({ event }) => {
    if (keyCache.apply(event).length === 0) return;
    const now = new Date(ground.startMs + ground.scheduler.nowMs()).toISOString();
    if (workingAdminKeys(keyCache, organizationId, now).length > 0) return;
    violate('scenario', `${event.type} of ${event.stream} took away the last admin key`);
  });
};

/** An expiry must be recorded once. */
const watchExpiries = ({ log, violate }: World): void => {
  const noted = new Set<string>();
  log.onEvent(({ event: { type, stream } }) => {
    if (type === 'KeyUpdated') noted.delete(stream);
    if (type !== 'KeyExpired') return;
    if (noted.has(stream)) violate('scenario', `the expiry of ${stream} is noted twice`);
    noted.add(stream);
  });
};

/** Rules that hold at every moment of the log. */
export const watchLog = (world: World): void => {
  watchRevisions(world);
  watchMessages(world);
  watchExpiries(world);
};
