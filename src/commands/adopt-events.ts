import { foreignEvents } from '../domain/kernel/event-macs.ts';
import {
  type EventStore,
  EventsDetached,
  type IsAuthentic,
  LOG_START,
  type RecordedEvent,
  type Revision,
  readPages,
  WrongExpectedRevision,
} from '../domain/kernel/event-store.ts';
import { adoptionsStream } from '../domain/kernel/streams.ts';
import { type CommandContext, eventContext, internalOrigin, type Origin, retryConflicts } from './execute.ts';

/** Accepts events that this service cannot prove to have written (`domain/kernel/event-macs.ts`). */

type Tools = Pick<CommandContext, 'store' | 'system'>;

/** @returns null: another process came first. */
const adoptAt = async (
  { store, system }: Tools,
  expected: Revision | 'no-stream',
  { origin, reason }: { readonly origin: Origin; readonly reason: string },
): Promise<true | null> => {
  try {
    await store.append({
      stream: adoptionsStream(),
      expected,
      events: [{ id: system.uuid(), type: 'EarlierEventsAdopted', data: { reason } }],
      context: eventContext(origin, system.now().toISOString()),
    });
    return true;
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
};

/**
 * Accepts all events so far that this service cannot prove to have written: an operator has found that they are right, or
 * they are of a version that wrote no proofs.
 */
export const adoptEarlierEvents = ({ store, system }: Tools, origin: Origin, reason: string): Promise<true> =>
  retryConflicts(async () => {
    const [last] = await store.readStream(adoptionsStream(), { direction: 'backwards', limit: 1 });
    return adoptAt({ store, system }, last?.revision ?? 'no-stream', { origin, reason });
  });

/** Bounds of a page of the log. Larger pages take more memory, smaller ones more queries. */
const PAGE_EVENTS_MAX = 500;
const PAGE_BYTES_MAX = 4_000_000;

/**
 * Reads the log from the last adoption on.
 * @returns the first event that this service cannot prove to have written and that is not adopted; null: every event is proved or adopted.
 */
export const findForeignEvent = async (store: EventStore): Promise<RecordedEvent | null> => {
  const { isAuthentic } = store;
  if (isAuthentic === undefined) return null;
  const [adoption] = await store.readStream(adoptionsStream(), { direction: 'backwards', limit: 1 });
  if (adoption !== undefined && !isAuthentic(adoption)) return adoption;
  const part = { from: adoption?.position ?? LOG_START, to: await store.head() };
  for await (const page of readPages(store, { ...part, limit: PAGE_EVENTS_MAX, bytesMax: PAGE_BYTES_MAX })) {
    const [first] = foreignEvents(page.events, isAuthentic).events;
    if (first !== undefined) return first;
  }
  return null;
};

/** Events looked at from the end. More only delays a start. */
const NEWEST_EVENTS = 100;

/** True if no event of the log is proved to be of this service: a version before proofs wrote it. */
const isBeforeProofs = async (store: EventStore, isAuthentic: IsAuthentic): Promise<boolean> => {
  const newest = await store.readAll({ direction: 'backwards', limit: NEWEST_EVENTS });
  if (newest.events.length === 0 || newest.events.some(isAuthentic)) return false;
  try {
    return !(await store.readAll({ limit: 1 })).events.some(isAuthentic);
  } catch (error) {
    if (error instanceof EventsDetached) return true;
    throw error;
  }
};

const BEFORE_PROOFS = 'An older version, which wrote no proofs of who wrote an event, wrote these events.';

/**
 * Adopts the events of older versions, once, at the first start of one that writes proofs. Older processes do not know the
 * event and stop there.
 * @returns whether it did.
 */
export const adoptOlderEvents = async ({ store, system }: Tools): Promise<boolean> => {
  const { isAuthentic } = store;
  if (isAuthentic === undefined || (await store.readStream(adoptionsStream(), { limit: 1 })).length > 0) return false;
  if (!(await isBeforeProofs(store, isAuthentic))) return false;
  const origin = internalOrigin({ actor: 'service', organizationId: '', causeId: system.uuid() });
  return (await adoptAt({ store, system }, 'no-stream', { origin, reason: BEFORE_PROOFS })) ?? false;
};
