import { apiKey } from '../domain/api-key/api-key.ts';
import { allows } from '../domain/api-key/events.ts';
import { customerEventId } from '../domain/customer-events/customer-events.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { WebhookEvent } from '../domain/kernel/events.ts';
import { formatId, ID_BYTES } from '../domain/kernel/ids.ts';
import { apiKeyStream, webhookStream } from '../domain/kernel/streams.ts';
import type { DisabledReason, WebhookFilters, WebhookFormat, WebhookHeaders } from '../domain/webhook/events.ts';
import {
  adoptWebhook as decideAdoptWebhook,
  deleteWebhook as decideDeleteWebhook,
  disableWebhook as decideDisableWebhook,
  pauseWebhook as decidePauseWebhook,
  pingWebhook as decidePingWebhook,
  registerWebhook as decideRegisterWebhook,
  resendDelivery as decideResendDelivery,
  rotateWebhookSecret as decideRotateWebhookSecret,
  updateWebhook as decideUpdateWebhook,
  type ExistingWebhook,
  owningKeyId,
  requireWebhook,
  type Webhook,
  type WebhookOwner,
  webhook,
} from '../domain/webhook/webhook.ts';
import {
  type Change,
  type CommandContext,
  type CommandResult,
  eventContext,
  execute,
  type LoadedStream,
  load,
  type Origin,
} from './execute.ts';
import { readStream } from './foreign-events.ts';

/** Standard Webhooks 1.0.0: 24 to 64 random bytes. */
const SECRET_BYTES = 32;

/** Values by name. */
type HeaderValues = Readonly<Record<string, string>>;

export interface RegisterWebhook {
  readonly environment: Environment;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
  readonly filters?: WebhookFilters | undefined;
  readonly headers?: HeaderValues | null | undefined;
  readonly format?: WebhookFormat | undefined;
}

export interface WebhookAtRevision {
  readonly webhook: ExistingWebhook;
  readonly revision: LoadedStream<Webhook>['revision'];
}

export interface WebhookWithSecret extends WebhookAtRevision {
  /** `whsec_<base64>`: this is the only time it is seen. */
  readonly secret: string;
}

/** An endpoint as its caller names it. */
interface WebhookTarget extends Change<Webhook> {
  readonly webhookId: string;
  readonly environment: Environment;
}

type WebhookDecision = (state: Webhook, by: WebhookOwner, now: string) => readonly WebhookEvent[];

const change = (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { webhookId, environment, ...how }: WebhookTarget,
  decide: WebhookDecision,
): Promise<CommandResult<Webhook, WebhookEvent>> => {
  const now = context.system.now().toISOString();
  const by = { organizationId: origin.organizationId, environment };
  return execute(context, {
    aggregate: webhook,
    stream: webhookStream(webhookId),
    context: eventContext({ ...origin, environment }, now),
    decide: (state) => decide(state, by, now),
    ...how,
  });
};

/** @returns the vault id of a new signing secret, and the secret. */
const makeSecret = async ({ system, secrets }: CommandContext, { organizationId }: Origin) => {
  const secretId = system.uuid();
  const secret = `whsec_${Buffer.from(system.randomBytes(SECRET_BYTES)).toString('base64')}`;
  await secrets.put(secretId, organizationId, secret);
  return { secretId, secret };
};

/** @returns what events say of headers; their values are put into the vault. */
const keepHeaders = async (
  { system, secrets }: CommandContext,
  { organizationId }: Origin,
  headers: HeaderValues,
): Promise<WebhookHeaders | null> => {
  const names = Object.keys(headers);
  if (names.length === 0) return null;
  const secretId = system.uuid();
  await secrets.put(secretId, organizationId, JSON.stringify(headers));
  return { names, secretId };
};

/** A refused change appended no event with its secret, so the secret can go. After other errors the outcome is unknown. */
const destroyIfRefused = async <Result>(
  { secrets }: CommandContext,
  secretId: string | undefined,
  changed: Promise<Result>,
): Promise<Result> => {
  try {
    return await changed;
  } catch (error) {
    if (error instanceof DomainError && secretId !== undefined) await secrets.destroy([secretId]);
    throw error;
  }
};

const requireUrl = async ({ webhookTarget }: CommandContext, url: string): Promise<void> => {
  const problem = await webhookTarget.problemWith(url);
  if (problem === null) return;
  throw new DomainError('invalid_request', 'invalid webhook', { details: { url: [`url ${problem}`] } });
};

/** @throws {DomainError} `invalid_request` naming `url`. */
export const registerWebhook = async (
  context: CommandContext,
  origin: Origin,
  { headers: values, filters, format, ...command }: RegisterWebhook,
): Promise<WebhookWithSecret> => {
  await requireUrl(context, command.url);
  const webhookId = formatId('whk', context.system.randomBytes(ID_BYTES));
  const { secretId, secret } = await makeSecret(context, origin);
  const headers = await keepHeaders(context, origin, values ?? {});
  const { environment } = command;
  const { state, revision } = await change(
    context,
    origin,
    { webhookId, environment, known: { state: webhook.initial, revision: 'no-stream' } },
    (before) =>
      decideRegisterWebhook(before, {
        ...command,
        events: [...command.events],
        webhookId,
        secretId,
        ...(filters === undefined ? {} : { filters }),
        ...(headers === null ? {} : { headers }),
        ...(format === undefined ? {} : { format }),
      }),
  );
  return { webhook: requireWebhook(state, { organizationId: origin.organizationId, environment }), secret, revision };
};

/** Fields that are undefined stay as they are. */
export interface UpdateWebhook extends WebhookTarget {
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  readonly description?: string | null | undefined;
  readonly filters?: WebhookFilters | undefined;
  /** In place of all there are. */
  readonly headers?: HeaderValues | undefined;
  readonly enabled?: boolean | undefined;
}

/** @throws {DomainError} `invalid_request` naming `url`; `not_found`, `other_organization`, `precondition_failed`. */
export const updateWebhook = async (
  context: CommandContext,
  origin: Origin,
  { webhookId, environment, atRevisions, known, headers: values, ...changes }: UpdateWebhook,
): Promise<WebhookAtRevision> => {
  if (changes.url !== undefined) await requireUrl(context, changes.url);
  const headers = values === undefined ? undefined : await keepHeaders(context, origin, values);
  const named = {
    webhookId,
    environment,
    ...(atRevisions === undefined ? {} : { atRevisions }),
    ...(known === undefined ? {} : { known }),
  };
  const changed = change(context, origin, named, (before, by) =>
    decideUpdateWebhook(before, by, { ...changes, headers }),
  );
  const { state, revision } = await destroyIfRefused(context, headers?.secretId, changed);
  return { webhook: requireWebhook(state, { organizationId: origin.organizationId, environment }), revision };
};

export interface RotatedWebhook extends WebhookWithSecret {
  /** Until then the secret before signs too. */
  readonly previousExpiresAt: string;
}

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `too_many_live_secrets`. */
export const rotateWebhookSecret = async (
  context: CommandContext,
  origin: Origin,
  { gracePeriodMinutes, ...named }: WebhookTarget & { readonly gracePeriodMinutes: number },
): Promise<RotatedWebhook> => {
  const { secretId, secret } = await makeSecret(context, origin);
  const changed = change(context, origin, named, (before, by, now) =>
    decideRotateWebhookSecret(before, by, { secretId, gracePeriodMinutes, now }),
  );
  const { state, revision, events } = await destroyIfRefused(context, secretId, changed);
  const [rotated] = events;
  const rotatedWebhook = requireWebhook(state, { ...named, organizationId: origin.organizationId });
  const previousExpiresAt = rotated?.type === 'WebhookSecretRotated' ? rotated.data.previousExpiresAt : '';
  return { webhook: rotatedWebhook, secret, revision, previousExpiresAt };
};

/**
 * @returns id of the event that is posted.
 * @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `webhook_disabled`.
 */
export const pingWebhook = async (context: CommandContext, origin: Origin, named: WebhookTarget): Promise<string> => {
  const { revision } = await change(context, origin, named, decidePingWebhook);
  const [pinged] = await readStream(context.store, webhookStream(named.webhookId), { from: Number(revision) });
  return customerEventId(pinged?.id ?? '', 0);
};

/**
 * Records that a delivery was posted again by request: the log does not contain deliveries.
 * @throws {DomainError} `not_found`, `other_organization`, `webhook_disabled`.
 */
export const recordResend = async (
  context: CommandContext,
  origin: Origin,
  { deliveryId, ...named }: WebhookTarget & { readonly deliveryId: string },
): Promise<void> => {
  await change(context, origin, named, decideResendDelivery(deliveryId));
};

/** Pauses an endpoint whose key has ended: its events wait until it is adopted. */
export const pauseWebhook = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { keyId, ...named }: WebhookTarget & { readonly keyId: string },
): Promise<void> => {
  await change(context, origin, named, (state) => decidePauseWebhook(state, keyId));
};

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `wider_than_own_key`. */
export const adoptWebhook = async (
  context: CommandContext,
  origin: Origin,
  { bounds, ...named }: WebhookTarget & Pick<Parameters<typeof decideAdoptWebhook>[2], 'bounds'>,
): Promise<WebhookAtRevision> => {
  const { state, revision } = await change(context, origin, named, (before, by) =>
    decideAdoptWebhook(before, by, { actor: origin.actor, bounds }),
  );
  return { webhook: requireWebhook(state, { ...named, organizationId: origin.organizationId }), revision };
};

/**
 * Whether posts of a webhook carry contents of mail: addresses, tags, metadata and texts. A key without `read` gets none
 * through a webhook either.
 */
export const carriesContents = async (
  { store }: Pick<CommandContext, 'store'>,
  endpoint: Pick<ExistingWebhook, 'ownedBy'>,
): Promise<boolean> => {
  const keyId = owningKeyId(endpoint);
  if (keyId === null) return true;
  const { state } = await load(store, apiKey, apiKeyStream(keyId));
  return state.status !== 'absent' && allows(state.permissions, 'read');
};

/** Stops posting to an endpoint; what it has not got waits. */
export const disableWebhook = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { reason, ...named }: WebhookTarget & { readonly reason: DisabledReason },
): Promise<void> => {
  await change(context, origin, named, (state) => decideDisableWebhook(state, reason));
};

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const deleteWebhook = async (context: CommandContext, origin: Origin, named: WebhookTarget): Promise<void> => {
  await change(context, origin, named, decideDeleteWebhook);
};
