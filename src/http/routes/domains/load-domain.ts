import { load } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/caller.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { isId } from '../../../domain/ids.ts';
import type { Revision } from '../../../domain/ports/event-store.ts';
import { requireOwnDomain } from '../../../domain/sending-domain/own-domain.ts';
import {
  type ExistingSendingDomain,
  sendingDomain,
  sendingDomainStream,
} from '../../../domain/sending-domain/sending-domain.ts';
import type { HttpDependencies } from '../../dependencies.ts';

/** A domain as its stream tells it. @throws {DomainError} `not_found`, `other_organization`. */
export const loadDomain = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{ readonly domain: ExistingSendingDomain; readonly revision: Revision | 'no-stream' }> => {
  if (!isId('dom', id)) throw new DomainError('not_found', 'domain not found');
  const { state, revision } = await load(context.store, sendingDomain, sendingDomainStream(id));
  return { domain: requireOwnDomain(state, caller.organizationId), revision };
};
