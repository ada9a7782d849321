import { DomainError } from './domain-error.ts';

/** What a decision knows of a resource: absent, or somebody's. */
type Owned = { readonly status: 'absent' } | { readonly status: string; readonly organizationId: string };

/**
 * The resource, if it exists and is the caller's.
 * @throws {DomainError} `not_found`, or `other_organization` (spec §7).
 */
export const requireOwn = <State extends Owned>(
  state: State,
  organizationId: string,
  noun: string,
): Exclude<State, { status: 'absent' }> => {
  if (state.status === 'absent') throw new DomainError('not_found', `${noun} not found`);
  const existing = state as Exclude<State, { status: 'absent' }>;
  if ((existing as { organizationId: string }).organizationId !== organizationId) {
    throw new DomainError('other_organization', `${noun} belongs to another organization`);
  }
  return existing;
};
