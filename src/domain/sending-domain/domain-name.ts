import type { Aggregate } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { DomainNameEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { VerificationMethod } from './events.ts';

/** The domain that has proved ownership of the name. The latest proof applies. */
export type DomainName =
  | { readonly status: 'free' }
  | { readonly status: 'taken'; readonly domainId: string; readonly method: VerificationMethod };

export interface Claim {
  readonly domainId: string;
  readonly capturing: boolean;
  /** A domain that proved the name but no longer holds it, because it was deleted. */
  readonly formerHolder: string | null;
}

/**
 * Whether another domain holds the name. A name taken while mail was captured is free again once mail is sent for real.
 */
export const isTakenByAnother = (name: DomainName, { domainId, capturing, formerHolder }: Claim): boolean =>
  name.status === 'taken' &&
  name.domainId !== domainId &&
  name.domainId !== formerHolder &&
  (capturing || name.method === 'dns');

export const domainName: Aggregate<DomainName, DomainNameEvent> = {
  category: CATEGORIES.domainName,
  initial: { status: 'free' },
  evolve: (state, event) => {
    switch (event.type) {
      case 'DomainNameTaken':
        return { status: 'taken', domainId: event.data.domainId, method: event.data.method };
      case 'DomainNameReleased':
        return state.status === 'taken' && state.domainId === event.data.domainId ? { status: 'free' } : state;
      default:
        return event satisfies never;
    }
  },
};

/** Releases the name if the domain holds it, so that others may prove it. */
export const releaseName = (
  state: DomainName,
  { name, domainId }: { readonly name: string; readonly domainId: string },
): readonly DomainNameEvent[] =>
  state.status === 'taken' && state.domainId === domainId
    ? [{ type: 'DomainNameReleased', data: { name, domainId } }]
    : [];

export interface TakeName {
  readonly name: string;
  readonly domainId: string;
  readonly method: VerificationMethod;
  readonly formerHolder: string | null;
}

/** Assigns the name to the first domain that proves it. @throws {DomainError} `domain_already_exists`. */
export const takeName = (state: DomainName, { formerHolder, ...claim }: TakeName): readonly DomainNameEvent[] => {
  if (isTakenByAnother(state, { ...claim, capturing: claim.method === 'capture', formerHolder })) {
    throw new DomainError(
      'domain_already_exists',
      `domain ${claim.name} already exists: another organization verified it`,
    );
  }
  if (state.status === 'taken' && state.domainId === claim.domainId && state.method === claim.method) return [];
  return [{ type: 'DomainNameTaken', data: { ...claim } }];
};
