import { load } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/caller.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { isId } from '../../../domain/ids.ts';
import { type ExistingMessage, message, messageStream } from '../../../domain/message/message.ts';
import { requireOwn } from '../../../domain/ownership.ts';
import type { MessageHead, ReplyText, SuppressionEvidence } from '../../../domain/ports/contents.ts';
import type { Revision } from '../../../domain/ports/event-store.ts';
import { visibleDomainId } from '../../auth/authenticate.ts';
import type { HttpDependencies } from '../../dependencies.ts';

const notFound = (): DomainError => new DomainError('not_found', 'message not found');

/**
 * A message as its stream tells it, if the caller may see it.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const loadMessage = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{ readonly message: ExistingMessage; readonly revision: Revision | 'no-stream' }> => {
  if (!isId('msg', id)) throw notFound();
  const { state, revision } = await load(context.store, message, messageStream(id));
  const found = requireOwn(state, caller.organizationId, 'message');
  const domainId = visibleDomainId(caller);
  if (found.environment !== caller.environment) throw notFound();
  if (domainId !== null && found.accepted.domainId !== domainId) throw notFound();
  return { message: found, revision };
};

/** A message's body or head among loaded contents. What is missing and was not erased is a fault: it is told, once per read. */
export const bodyOf = <Body extends MessageHead>(
  { logger }: Pick<HttpDependencies, 'logger'>,
  contents: ReadonlyMap<string, Body | ReplyText | SuppressionEvidence>,
  contentId: string,
): Body | null => {
  const found = contents.get(contentId);
  if (found?.kind === 'message') return found;
  logger.error({ contentId }, 'the vault holds no contents that an event names');
  return null;
};
