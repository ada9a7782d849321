import type { Environment } from '../../domain/environment.ts';
import { deleteWebhook as decide } from '../../domain/webhook/delete-webhook.ts';
import { webhook, webhookStream } from '../../domain/webhook/webhook.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute } from '../execute.ts';

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const deleteWebhook = async (
  context: CommandContext,
  origin: Origin,
  {
    webhookId,
    environment,
    ...condition
  }: Condition & { readonly webhookId: string; readonly environment: Environment },
): Promise<void> => {
  await execute(context, {
    aggregate: webhook,
    stream: webhookStream(webhookId),
    context: eventContext({ ...origin, environment }, context.system.now().toISOString()),
    decide: (state) => decide(state, { organizationId: origin.organizationId, environment }),
    ...condition,
  });
};
