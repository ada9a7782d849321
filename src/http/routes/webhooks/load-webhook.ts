import { load } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/caller.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { isId } from '../../../domain/ids.ts';
import type { Revision } from '../../../domain/ports/event-store.ts';
import { requireWebhook } from '../../../domain/webhook/delete-webhook.ts';
import { type ExistingWebhook, webhook, webhookStream } from '../../../domain/webhook/webhook.ts';
import type { HttpDependencies } from '../../dependencies.ts';

/** An endpoint of the caller's environment as its stream tells it. @throws {DomainError} `not_found`, `other_organization`. */
export const loadWebhook = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{ readonly webhook: ExistingWebhook; readonly revision: Revision | 'no-stream' }> => {
  if (!isId('whk', id)) throw new DomainError('not_found', 'webhook not found');
  const { state, revision } = await load(context.store, webhook, webhookStream(id));
  return { webhook: requireWebhook(state, caller), revision };
};
