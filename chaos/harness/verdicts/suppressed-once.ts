import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import { isSuppressing, type SuppressingEvent } from '../../../src/domain/suppression/suppression.ts';
import type { Evidence } from '../evidence.ts';
import type { Violation } from '../violation.ts';

const violation = (what: string): Violation => ({ promise: 'suppressions', what });

type AddedEvent = Extract<RecordedEvent, { type: 'SuppressionAdded' }>;
const isAdded = (event: RecordedEvent): event is AddedEvent => event.type === 'SuppressionAdded';

/** Keyed digests of addresses by recipient id. */
const digestsOf = (events: readonly RecordedEvent[]): ReadonlyMap<string, string> =>
  new Map(
    events.flatMap(({ type, data }) =>
      type === 'MessageAccepted' ? data.recipients.map(({ id, digest }) => [id, digest] as const) : [],
    ),
  );

const forgotten = (events: readonly RecordedEvent[], added: readonly AddedEvent[]): readonly Violation[] => {
  const digests = digestsOf(events);
  const listed = new Set(added.map(({ data }) => data.digest));
  return events
    .filter((event): event is SuppressingEvent => isSuppressing(event))
    .filter(({ data }) => !listed.has(digests.get(data.recipientId) ?? ''))
    .map(({ type, data }) => violation(`${data.recipientId} is not on the list after ${type}`));
};

/** An event that is processed twice must be recorded once. */
const doubled = (added: readonly AddedEvent[]): readonly Violation[] => {
  const sources = added.flatMap(({ data }) => data.source?.eventId ?? []);
  return [...Map.groupBy(sources, (id) => id)]
    .filter(([, same]) => same.length > 1)
    .map(([id, same]) => violation(`the event ${id} put its address on the list ${same.length} times`));
};

/** Every permanently bounced or unsubscribed address must be on the list once per event. */
export const suppressedOnce = ({ events }: Pick<Evidence, 'events'>): readonly Violation[] => {
  const added = events.filter(isAdded);
  return [...forgotten(events, added), ...doubled(added)];
};
