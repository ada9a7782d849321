import { DomainError } from '../domain-error.ts';
import type { Environment } from '../environment.ts';
import type { SuppressionEvent } from '../events.ts';
import { requireOwn } from '../ownership.ts';
import type { ExistingSuppression, Suppression } from './suppression.ts';

/** Whose it must be. */
interface Owner {
  readonly organizationId: string;
  readonly environment: Environment;
}

/** The suppression, if it is the caller's and of the caller's environment. @throws {DomainError} */
export const requireSuppression = (state: Suppression, { organizationId, environment }: Owner): ExistingSuppression => {
  const existing = requireOwn(state, organizationId, 'suppression');
  if (existing.environment !== environment) throw new DomainError('not_found', 'suppression not found');
  return existing;
};

/**
 * Takes an address off the list; one that is off it stays so.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const removeSuppression = (state: Suppression, by: Owner): readonly SuppressionEvent[] => {
  const { suppressionId, entries } = requireSuppression(state, by);
  const last = entries.findLast(({ removedAt }) => removedAt === null);
  if (last === undefined) return [];
  return [{ type: 'SuppressionRemoved', data: { suppressionId, contentId: last.contentId } }];
};
