import { z } from 'zod';
import { deleteKey, type KeyChange, loadOwnKey, noteRefusal, revokeKey, rotateKey } from '../../../commands/api-key.ts';
import { type LoadedStream, load } from '../../../commands/execute.ts';
import {
  apiKey,
  type ExistingApiKey,
  GRACE_PERIOD_MINUTES_DEFAULT,
  GRACE_PERIOD_MINUTES_MAX,
  isExpired,
  type KeyCircumstances,
  liveEarlierSecrets,
} from '../../../domain/api-key/api-key.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { permissionSchema } from '../../../domain/api-key/events.ts';
import { isNotedRefusal, type KeyChangeName } from '../../../domain/api-key/key-history.ts';
import type { UsageMark } from '../../../domain/api-key/secret.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { DEFAULT_RATE_LIMITS, type RateLimits } from '../../../domain/kernel/rate-limits.ts';
import { apiKeyStream, sendingDomainStream } from '../../../domain/kernel/streams.ts';
import { sendingDomain } from '../../../domain/sending-domain/sending-domain.ts';
import { mapConcurrently, withTimeout } from '../../../lib/async/async.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { type Call, endpoint, type RouteContext } from '../../endpoint.ts';
import { timeSchema } from '../../fields.ts';
import { ifMatch, listEndpoint, resourceEndpoint, setRevision, statesOf } from '../../reading.ts';

export const rateLimitsAnswerSchema = z.strictObject({
  send: z.number().int(),
  read: z.number().int(),
  manage: z.number().int(),
});

export const apiKeySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('api_key'),
    name: z.string(),
    domain_id: z.string(),
    permissions: z.array(permissionSchema),
    environment: environmentSchema,
    rate_limits: rateLimitsAnswerSchema.describe(
      'Requests per minute by kind. If `rate_limit_ceilings` of the organization are lower, they apply instead: the ' +
        'header `RateLimit-Limit` has the effective limit.',
    ),
    allowed_cidrs: z.array(z.string()),
    expires_at: timeSchema().nullable(),
    created_at: timeSchema(),
    last_used_at: timeSchema().nullable(),
    last_used_address: z.string().nullable().describe('IP address of the last request with this key.'),
    last4: z.string(),
    status: z
      .enum(['active', 'expired', 'revoked'])
      .describe('`revoked`: ended permanently, by request or because its domain was deleted.'),
    earlier_secrets: z.array(
      z.strictObject({ expires_at: timeSchema(), last_used_at: timeSchema().nullable(), last4: z.string() }),
    ),
  })
  .meta({ id: 'ApiKey' });
export type SerializedApiKey = z.infer<typeof apiKeySchema>;

/** This response is the only one that contains the key's value. */
export const createdKeySchema = apiKeySchema.extend({ key: z.string() }).meta({ id: 'CreatedApiKey' });
export const rotatedKeySchema = createdKeySchema
  .extend({ previous_key_expires_at: timeSchema() })
  .meta({ id: 'RotatedApiKey' });

/** Facts besides the key's stream that determine its status. */
interface KeyContext extends KeyCircumstances {
  /** Usage marks of any keys; those of other keys are ignored. */
  readonly marks: readonly UsageMark[];
}

const statusOf = (key: ExistingApiKey, { now, endedWithDomain }: KeyContext): SerializedApiKey['status'] => {
  if (key.status !== 'active' || endedWithDomain) return 'revoked';
  return isExpired(key, now) ? 'expired' : 'active';
};

const newest = (marks: readonly UsageMark[]): UsageMark | undefined =>
  marks.toSorted((left, right) => right.lastUsedAt.getTime() - left.lastUsedAt.getTime())[0];

const newestTime = (marks: readonly UsageMark[]): string | null => newest(marks)?.lastUsedAt.toISOString() ?? null;

export const serializeRateLimits = (limits: RateLimits): SerializedApiKey['rate_limits'] => ({
  send: limits.send ?? DEFAULT_RATE_LIMITS.send,
  read: limits.read ?? DEFAULT_RATE_LIMITS.read,
  manage: limits.manage ?? DEFAULT_RATE_LIMITS.manage,
});

export const serializeApiKey = (key: ExistingApiKey, context: KeyContext): SerializedApiKey => {
  const own = context.marks.filter(({ keyId }) => keyId === key.keyId);
  return {
    id: key.keyId,
    object: 'api_key',
    name: key.name,
    domain_id: key.domainId,
    permissions: [...key.permissions],
    environment: key.environment,
    rate_limits: serializeRateLimits(key.rateLimits),
    allowed_cidrs: [...key.allowedCidrs],
    expires_at: key.expiresAt,
    created_at: key.createdAt,
    last_used_at: newestTime(own),
    last_used_address: newest(own)?.lastAddress || null,
    last4: key.secret.last4,
    status: statusOf(key, context),
    earlier_secrets: liveEarlierSecrets(key, context.now).map(({ hash, expiresAt, last4 }) => ({
      expires_at: expiresAt,
      last_used_at: newestTime(own.filter(({ secretHash }) => secretHash === hash)),
      last4,
    })),
  };
};

/** Listing, reading, rotating, revoking and deleting API keys. */

/**
 * Loads a key that the caller may see: a test key sees test keys only.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
const loadApiKey = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<LoadedStream<ExistingApiKey>> => {
  if (!isId('key', id)) throw new DomainError('not_found', 'API key not found');
  const known = await loadOwnKey(context, caller.organizationId, id);
  if (caller.environment === 'test' && known.state.environment === 'live')
    throw new DomainError('not_found', 'API key not found');
  return known;
};

/** Serializes keys with their usage and status. The key cache has caught up with the log first. */
const serializeKeys = async (
  { deps, auth: { keyCache } }: RouteContext,
  keys: readonly ExistingApiKey[],
): Promise<readonly SerializedApiKey[]> => {
  const [marks] = await Promise.all([deps.usageMarks.of(keys.map(({ keyId }) => keyId)), keyCache.catchUp()]);
  const now = deps.context.system.now().toISOString();
  return keys.map((key) => serializeApiKey(key, { marks, now, endedWithDomain: keyCache.endedWithDomain(key.keyId) }));
};

export const serializeKey = async (route: RouteContext, key: ExistingApiKey): Promise<SerializedApiKey> => {
  const [serialized] = await serializeKeys(route, [key]);
  if (serialized === undefined) throw new Error('a key was not serialized');
  return serialized;
};

/** How long a refused request waits for the refusal to be recorded. */
const NOTE_MS_MAX = 1_000;

type AnyCall = Pick<Call<unknown, unknown>, 'caller' | 'origin' | 'id' | 'request'>;

/** Records a refusal in the key's history. If that fails the refusal is answered all the same. */
const note = async (
  { deps }: RouteContext,
  { origin }: AnyCall,
  refused: Parameters<typeof noteRefusal>[2],
): Promise<void> => {
  try {
    await withTimeout({ ms: NOTE_MS_MAX }, noteRefusal(deps.context, origin, refused));
  } catch (error) {
    deps.logger.warn(
      { err: error, keyId: refused.key.keyId },
      'cannot record a rejected change in the history of a key',
    );
  }
};

/**
 * Runs a change of a key that the caller may see. Refusals that matter to an audit are recorded in the key's history.
 * @throws {DomainError} of the change; `not_found`, `other_organization`.
 */
export const changeOwnKey = async <Changed>(
  route: RouteContext,
  call: AnyCall,
  change: KeyChangeName,
  work: (change: KeyChange) => Promise<Changed>,
): Promise<Changed> => {
  const { caller, id, request } = call;
  const known = await loadApiKey(route.deps, caller, id);
  try {
    return await work({ by: caller, keyId: id, known, loadKeyCache: route.auth.keyCache.load, ...ifMatch(request) });
  } catch (error) {
    if (error instanceof DomainError && isNotedRefusal(error.code))
      await note(route, call, { key: known.state, change, code: error.code });
    throw error;
  }
};

/** A key at a past moment, from the log only, which does not record the use of keys. */
const serializeKeyThen = async (
  { store, system }: HttpDependencies['context'],
  key: ExistingApiKey,
): Promise<SerializedApiKey> => {
  const { state: domain } = await load(store, sendingDomain, sendingDomainStream(key.domainId));
  const endedWithDomain = domain.status === 'deleted';
  return serializeApiKey(key, { now: system.now().toISOString(), marks: [], endedWithDomain });
};

export const listKeysRoute = listEndpoint(
  'GET /v1/api-keys',
  { summary: 'List API keys', of: 'api-keys', item: apiKeySchema, takesAt: true },
  async (by, { organizationId, environment }, route) => {
    const shown = environment === 'test' ? environment : null;
    const page = await route.deps.readModels.apiKeys.list({ organizationId, environment: shown, ...by });
    if (!by.withDeleted) return { ...page, items: await serializeKeys(route, page.items) };
    const { context } = route.deps;
    const streams = page.items.map(({ keyId }) => apiKeyStream(keyId));
    const keys = await statesOf(context, apiKey, streams);
    const items = await mapConcurrently(keys, { system: context.system, concurrency: 1 }, (key) =>
      serializeKeyThen(context, key),
    );
    return { ...page, items };
  },
);

export const getKeyRoute = resourceEndpoint(
  'GET /v1/api-keys/:id',
  { summary: 'Get an API key', description: 'Returns the key without its secret.', answer: apiKeySchema },
  async ({ caller, id, reply, isPast }, route) => {
    const { state: key, revision } = await loadApiKey(route.deps, caller, id);
    setRevision(reply, revision);
    return isPast ? serializeKeyThen(route.deps.context, key) : serializeKey(route, key);
  },
);

export const revokeKeyRoute = endpoint(
  'POST /v1/api-keys/:id/revoke',
  {
    summary: 'Revoke an API key',
    description: 'All secrets of the key stop working within a second. This cannot be undone.',
    answer: apiKeySchema,
  },
  async (call, route) => {
    const { key, revision } = await changeOwnKey(route, call, 'revoke', (change) =>
      revokeKey(route.deps.context, call.origin, change),
    );
    setRevision(call.reply, revision);
    return serializeKey(route, key);
  },
);

export const deleteKeyRoute = endpoint(
  'DELETE /v1/api-keys/:id',
  {
    summary: 'Delete an API key',
    description: 'Revokes the key and removes it from the list. You can still read its history.',
  },
  async (call, route) => {
    const { deps, auth } = route;
    await changeOwnKey(route, call, 'delete', (change) => deleteKey(deps.context, call.origin, change));
    await auth.keyCache.catchUp();
  },
);

const body = z.strictObject({
  grace_period_minutes: z
    .int()
    .min(0)
    .max(GRACE_PERIOD_MINUTES_MAX)
    .default(GRACE_PERIOD_MINUTES_DEFAULT)
    .describe(
      'Minutes for which the previous secret still works (grace period). 0: the previous secret ends now. Secrets before it keep the ' +
        'grace period that they were given; `earlier_secrets` in the response lists those that still work.',
    ),
  revoke_previous: z.boolean().default(false).describe('true: revoke all earlier secrets immediately.'),
});

export const rotateKeyRoute = endpoint(
  'POST /v1/api-keys/:id/rotate',
  {
    summary: 'Rotate an API key',
    description:
      'Creates a new secret and returns it once. The previous secret works until the grace period ends. You cannot rotate a ' +
      'key that has more networks (`allowed_cidrs`) or a later expiry (`expires_at`) than the key that sends the request.',
    body,
    examples: {
      'Keep the previous secret for an hour': { grace_period_minutes: 60 },
      'Replace it immediately': { grace_period_minutes: 0, revoke_previous: true },
    },
    answer: rotatedKeySchema,
  },
  async (call, route) => {
    const { context } = route.deps;
    const { grace_period_minutes: gracePeriodMinutes, revoke_previous: revokePrevious } = call.body;
    const { key, value, revision, previousKeyExpiresAt } = await changeOwnKey(route, call, 'rotate', (change) =>
      rotateKey(context, call.origin, { ...change, gracePeriodMinutes, revokePrevious }),
    );
    setRevision(call.reply, revision);
    return { ...(await serializeKey(route, key)), key: value, previous_key_expires_at: previousKeyExpiresAt };
  },
);
