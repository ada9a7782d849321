import { load } from '../../../commands/execute.ts';
import type { Caller } from '../../../domain/caller.ts';
import type { Revision } from '../../../domain/event-store.ts';
import { isId } from '../../../domain/ids.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { requireWebhook } from '../../../domain/webhook/delete-webhook.ts';
import { type ExistingWebhook, webhook, webhookStream } from '../../../domain/webhook/webhook.ts';
import type { HttpDependencies } from '../../dependencies.ts';

/** An endpoint of the caller's environment as its stream tells it. @throws {Refusal} `not_found`, `other_organization`. */
export const loadWebhook = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{ readonly webhook: ExistingWebhook; readonly revision: Revision | 'no-stream' }> => {
  if (!isId('whk', id)) throw new Refusal('not_found', 'webhook not found');
  const { state, revision } = await load(context.store, webhook, webhookStream(id));
  return { webhook: requireWebhook(state, caller), revision };
};
