import { z } from 'zod';
import { jitter } from '../../lib/async/async.ts';
import type { Aggregate } from '../kernel/aggregate.ts';
import type { EventsOf } from '../kernel/event.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/** Stream `destination-<mailbox provider>`: how this service found the mail servers of others. */
export const destinationEvents = {
  /** Nothing is sent until then, unless the destination is released earlier. */
  DestinationSuspended: z.object({
    /**
     * Mailbox provider, `google.com`; a single recipient domain, `@example.com`; or either of them for one sending
     * domain only, `dom_…@google.com`.
     */
    operator: z.string(),
    /** Recipient domain whose mail triggered the suspension. */
    domain: z.string(),
    /**
     * `refused`: it accepts no sessions from this service. `recipient_domain`: the domain's own DNS or policy prevents
     * delivery.
     */
    reason: z.enum(['busy', 'unreachable', 'refused', 'recipient_domain']),
    /** Reply code (RFC 5321 §4.2), 0 without a reply, and enhanced code (RFC 3463). */
    code: z.number().int(),
    enhanced: z.string().nullable(),
    /** Host of the attempt. */
    mx: z.string().nullable(),
    /** Addresses of the attempts. The suspension covers only these. Absent: all. */
    addresses: z.array(z.string()).optional(),
    /** Number of suspensions in a row. */
    times: z.number().int(),
    until: z.string(),
  }),
  DestinationReleased: z.object({ operator: z.string() }),
};
export type DestinationEvent = EventsOf<typeof destinationEvents>;

export type Suspension = Extract<DestinationEvent, { type: 'DestinationSuspended' }>['data'] & {
  readonly since: string;
};

/**
 * Names a recipient domain as its own destination instead of its mailbox provider, because faults of its own DNS or
 * policy affect no other domain. No provider has such a name.
 */
export const ownDestination = (domain: string): string => `@${domain}`;
export const isOwnDestination = (name: string): boolean => name.startsWith('@');

/**
 * Names a provider as seen by one sending domain, `dom_…@google.com`, for a fault that only this sender has had so far.
 * Mail of other senders continues.
 */
export const senderDestination = (domainId: string, destination: string): string => `${domainId}@${destination}`;

/** Parses the name of a destination. `domainId` is null unless it belongs to one sending domain. */
export const partsOfDestination = (
  name: string,
): { readonly domainId: string | null; readonly destination: string } => {
  const at = name.indexOf('@');
  return at < 1
    ? { domainId: null, destination: name }
    : { domainId: name.slice(0, at), destination: name.slice(at + 1) };
};

/**
 * Whether a domain with servers at these addresses shares its provider's suspension. If none of its addresses were
 * tried, other servers may serve it.
 * @param addresses empty if unknown.
 */
export const isCovered = (tried: ReadonlySet<string> | undefined, addresses: readonly string[]): boolean =>
  tried === undefined || addresses.length === 0 || addresses.some((address) => tried.has(address));

/** The mail servers of one mailbox provider. A suspension ends when its time is up. */
export interface Destination {
  readonly suspension: Suspension | null;
}

export const destination: Aggregate<Destination, DestinationEvent> = {
  category: CATEGORIES.destination,
  initial: { suspension: null },
  evolve: (_state, { type, data }, { occurredAt }) => {
    switch (type) {
      case 'DestinationSuspended':
        return { suspension: { ...data, since: occurredAt } };
      case 'DestinationReleased':
        return { suspension: null };
      default:
        return type satisfies never;
    }
  },
};

/** @param now ISO 8601. */
export const isSuspended = (
  { suspension }: { readonly suspension: Pick<Suspension, 'until'> | null },
  now: string,
): boolean => suspension !== null && suspension.until > now;

const MINUTE_MS = 60_000;
/**
 * Lengths of the first suspension in a row, the second, and so on. Lower: disturbs a server that is down. Higher:
 * delays mail.
 */
const SUSPENSION_MINUTES = [1, 2, 5, 15, 30] as const;
const LAST_SUSPENSION_MINUTES = 30;

/** Computes the next suspension in a row. @param now ISO 8601. @param random in [0, 1). */
export const nextSuspension = (
  last: Pick<Suspension, 'times'> | null,
  now: string,
  random: number,
): Pick<Suspension, 'times' | 'until'> => {
  const before = last?.times ?? 0;
  const minutes = SUSPENSION_MINUTES[before] ?? LAST_SUSPENSION_MINUTES;
  const until = new Date(Date.parse(now) + jitter(minutes * MINUTE_MS, random)).toISOString();
  return { times: before + 1, until };
};

export type SuspendDestination = Extract<DestinationEvent, { type: 'DestinationSuspended' }>['data'];

/** Records the suspension once. If several processes decide it, the first sets the time. @param now ISO 8601. */
export const suspendDestination = (
  state: Destination,
  suspension: SuspendDestination,
  now: string,
): readonly DestinationEvent[] => (isSuspended(state, now) ? [] : [{ type: 'DestinationSuspended', data: suspension }]);

/** Ends a suspension early. Emits nothing if the destination is not suspended. @param now ISO 8601. */
export const releaseDestination = (state: Destination, provider: string, now: string): readonly DestinationEvent[] =>
  isSuspended(state, now) ? [{ type: 'DestinationReleased', data: { operator: provider } }] : [];
