import type { CountedDays } from '../domain/billing/invoice.ts';
import { dayOf } from '../domain/kernel/event.ts';
import { type EventStore, type Position, type RecordedEvent, readPages } from '../domain/kernel/event-store.ts';
import { messageStream } from '../domain/kernel/streams.ts';
import { type BillingChanges, billingProjection, dayKey, isFree } from './billing.ts';
import { earlierMessages } from './projection.ts';

/**
 * Counts recipients again, from the log, by the rules of the read model and without its tables. An intruder with the
 * database can change the tables of billing, but an event has a proof of who wrote it and a place in an audit log.
 *
 * It reads the log once for all organizations and continues where it stopped. It holds a number for each organization and
 * day, and the days of the last messages: the day of an older one is read from its stream.
 */
export interface BillingRecount {
  /** Start of the count: the events of all requested days come after it. */
  readonly from: Position;
  /** Days with any messages, counted up to a position, which does not go back. */
  upTo(position: Position, by: DaysOfOrganization): Promise<CountedDays>;
}

interface DaysOfOrganization {
  readonly organizationId: string;
  /** Dates, [start, end). */
  readonly start: string;
  readonly end: string;
}

/** A page is decoded in some 10 ms. Larger delays requests, smaller costs queries. */
const PAGE_EVENTS_MAX = 500;
const PAGE_BYTES_MAX = 4_000_000;
/** Some 20 MB. Fewer cost a read of a stream for each recipient that is free; most become free within minutes. */
const DAYS_KEPT_MAX = 100_000;

const DAY_MS = 86_400_000;

const daysFrom = (start: string, end: string): readonly string[] =>
  Array.from({ length: (Date.parse(end) - Date.parse(start)) / DAY_MS }, (_, day) =>
    dayOf(new Date(Date.parse(start) + day * DAY_MS).toISOString()),
  );

export const createBillingRecount = (
  store: Pick<EventStore, 'readAll' | 'readStream'>,
  from: Position,
): BillingRecount => {
  const days = new Map<string, string>();
  const recipients: BillingChanges['recipients'] = new Map();
  let position = from;

  const keep = (accepted: BillingChanges['accepted']): void => {
    for (const { messageId, day } of accepted) days.set(messageId, day);
    for (const oldest of days.keys()) {
      if (days.size <= DAYS_KEPT_MAX) break;
      days.delete(oldest);
    }
  };

  /** The day on which a message was accepted; none if it is not billed. */
  const dayOfEarlier = async (messageId: string): Promise<readonly (readonly [string, string])[]> => {
    const known = days.get(messageId);
    if (known !== undefined) return [[messageId, known]];
    const alone: BillingChanges = { days: new Map(), accepted: [], invoices: [], recipients: new Map() };
    billingProjection.fold(alone, await store.readStream(messageStream(messageId), { limit: 1 }));
    return [...alone.days];
  };

  const count = async (events: readonly RecordedEvent[]): Promise<void> => {
    const earlier = await Promise.all(earlierMessages(events.filter(isFree)).map(dayOfEarlier));
    const changes: BillingChanges = { days: new Map(earlier.flat()), accepted: [], invoices: [], recipients };
    billingProjection.fold(changes, events);
    keep(changes.accepted);
  };

  const countTo = async (to: Position): Promise<void> => {
    const filter = { categories: ['message'] };
    const bounds = { limit: PAGE_EVENTS_MAX, bytesMax: PAGE_BYTES_MAX };
    for await (const page of readPages(store, { from: position, to, filter, ...bounds })) {
      await count(page.events.filter((event) => event.position <= to));
      position = page.position < to ? page.position : to;
    }
  };

  return {
    from,
    upTo: async (to, { organizationId, start, end }) => {
      await countTo(to);
      const counted = daysFrom(start, end).map((day) => [day, recipients.get(dayKey(organizationId, day))] as const);
      return new Map(
        counted.flatMap(([day, entry]) =>
          entry === undefined ? [] : [[day, { recipients: entry.recipients, after: entry.after }]],
        ),
      );
    },
  };
};
