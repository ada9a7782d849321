import { DomainError } from '../domain/domain-error.ts';
import type { Position } from '../domain/ports/event-store.ts';
import type { ProjectionName } from '../projections/names.ts';
import type { HttpDependencies } from './dependencies.ts';

const RETRY_AFTER_SECONDS = 2;

/**
 * Returns once the read models have passed the log's head as it is now.
 * @returns that head.
 * @throws {DomainError} `unavailable` when that takes more than 2 s.
 */
export const readYourWrites = async (
  { context, readModels }: Pick<HttpDependencies, 'context' | 'readModels'>,
  names: readonly ProjectionName[],
): Promise<Position> => {
  const head = await context.store.head();
  if (await readModels.waitFor(names, head)) return head;
  throw new DomainError('unavailable', 'this list is not up to date just now', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
};
