import { disableWebhook as decide } from '../../domain/webhook/disable-webhook.ts';
import { webhook, webhookStream } from '../../domain/webhook/webhook.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/** Stops posting to an endpoint; what it has not got waits. */
export const disableWebhook = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { webhookId, reason }: { readonly webhookId: string; readonly reason: 'gone' | 'failing' },
): Promise<void> => {
  await execute(context, {
    aggregate: webhook,
    stream: webhookStream(webhookId),
    context: eventContext(origin, context.system.now().toISOString()),
    decide: (state) => decide(state, reason),
  });
};
