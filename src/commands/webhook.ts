import { requireOwn } from '../domain/aggregate.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { Environment } from '../domain/environment.ts';
import { formatId, ID_BYTES } from '../domain/ids.ts';
import { webhookStream } from '../domain/streams.ts';
import {
  deleteWebhook as decideDeleteWebhook,
  disableWebhook as decideDisableWebhook,
  registerWebhook as decideRegisterWebhook,
  type ExistingWebhook,
  webhook,
} from '../domain/webhook/webhook.ts';
import { type CommandContext, eventContext, type Origin } from './context.ts';
import { type Condition, execute } from './execute.ts';

/** Standard Webhooks 1.0.0: 24 to 64 random bytes. */
const SECRET_BYTES = 32;

export interface RegisterWebhook {
  readonly environment: Environment;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
}

export interface WebhookWithSecret {
  readonly webhook: ExistingWebhook;
  /** `whsec_<base64>`: this is the only time it is seen. */
  readonly secret: string;
  readonly revision: number;
}

/** @throws {DomainError} `invalid_request` naming `url`. */
export const registerWebhook = async (
  context: CommandContext,
  origin: Origin,
  command: RegisterWebhook,
): Promise<WebhookWithSecret> => {
  const { system, secrets } = context;
  const problem = await context.webhookTarget.problemWith(command.url);
  if (problem !== null)
    throw new DomainError('invalid_request', 'invalid webhook', { details: { url: [`url ${problem}`] } });
  const webhookId = formatId('whk', system.randomBytes(ID_BYTES));
  const secretId = system.uuid();
  const secret = `whsec_${Buffer.from(system.randomBytes(SECRET_BYTES)).toString('base64')}`;
  await secrets.put(secretId, origin.organizationId, secret);
  const { state, revision } = await execute(context, {
    aggregate: webhook,
    stream: webhookStream(webhookId),
    context: eventContext({ ...origin, environment: command.environment }, system.now().toISOString()),
    decide: (before) => decideRegisterWebhook(before, { ...command, webhookId, secretId }),
    known: { state: webhook.initial, revision: 'no-stream' },
  });
  return { webhook: requireOwn(state, origin.organizationId, 'webhook'), secret, revision: Number(revision) };
};

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
    decide: (state) => decideDisableWebhook(state, reason),
  });
};

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
    decide: (state) => decideDeleteWebhook(state, { organizationId: origin.organizationId, environment }),
    ...condition,
  });
};
