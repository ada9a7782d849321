import type { Aggregate } from '../aggregate.ts';
import type { DestinationEvent } from '../events.ts';
import { CATEGORIES } from '../streams.ts';

export type Suspension = Extract<DestinationEvent, { type: 'DestinationSuspended' }>['data'] & {
  readonly since: string;
};

/**
 * A recipient domain as a destination of its own, in place of its mailbox provider: faults of its own DNS or policy affect
 * no other domain. No provider has such a name.
 */
export const ownDestination = (domain: string): string => `@${domain}`;
export const isOwnDestination = (name: string): boolean => name.startsWith('@');

/**
 * Whether a domain with servers at these addresses shares the suspension of its provider: one that has none of those that
 * were tried may be served by others. @param addresses none: it is not known.
 */
export const isCovered = (tried: ReadonlySet<string> | undefined, addresses: readonly string[]): boolean =>
  tried === undefined || addresses.length === 0 || addresses.some((address) => tried.has(address));

/** The mail servers of one mailbox provider. A suspension ends when its time is over. */
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

export const isSuspended = ({ suspension }: Destination, now: string): boolean =>
  suspension !== null && suspension.until > now;

export type SuspendDestination = Extract<DestinationEvent, { type: 'DestinationSuspended' }>['data'];

/** Recorded once: of several processes that decide it, the first sets the time. @param now ISO 8601. */
export const suspendDestination = (
  state: Destination,
  suspension: SuspendDestination,
  now: string,
): readonly DestinationEvent[] => (isSuspended(state, now) ? [] : [{ type: 'DestinationSuspended', data: suspension }]);

/** Ends a suspension early. No event if the destination is not suspended. @param now ISO 8601. */
export const releaseDestination = (state: Destination, provider: string, now: string): readonly DestinationEvent[] =>
  isSuspended(state, now) ? [{ type: 'DestinationReleased', data: { operator: provider } }] : [];
