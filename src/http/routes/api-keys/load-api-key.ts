import { load } from '../../../commands/execute.ts';
import { apiKey, apiKeyStream, type ExistingApiKey } from '../../../domain/api-key/api-key.ts';
import { requireOwnKey } from '../../../domain/api-key/own-key.ts';
import type { Caller } from '../../../domain/caller.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { isId } from '../../../domain/ids.ts';
import type { Revision } from '../../../domain/ports/event-store.ts';
import type { HttpDependencies } from '../../dependencies.ts';

/**
 * A key as its stream tells it, if the caller may see it: a test key sees test keys only.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const loadApiKey = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{ readonly key: ExistingApiKey; readonly revision: Revision | 'no-stream' }> => {
  if (!isId('key', id)) throw new DomainError('not_found', 'API key not found');
  const { state, revision } = await load(context.store, apiKey, apiKeyStream(id));
  const key = requireOwnKey(state, caller.organizationId);
  if (caller.environment === 'test' && key.environment === 'live')
    throw new DomainError('not_found', 'API key not found');
  return { key, revision };
};
