import { load } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/caller.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { isId } from '../../../domain/ids.ts';
import type { Revision } from '../../../domain/ports/event-store.ts';
import { requireSuppression } from '../../../domain/suppression/remove-suppression.ts';
import { type ExistingSuppression, suppression, suppressionStream } from '../../../domain/suppression/suppression.ts';
import type { HttpDependencies } from '../../dependencies.ts';

/** A suppression of the caller's environment as its stream tells it. @throws {DomainError} `not_found`, `other_organization`. */
export const loadSuppression = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{ readonly suppression: ExistingSuppression; readonly revision: Revision | 'no-stream' }> => {
  if (!isId('sup', id)) throw new DomainError('not_found', 'suppression not found');
  const { state, revision } = await load(context.store, suppression, suppressionStream(id));
  return { suppression: requireSuppression(state, caller), revision };
};
