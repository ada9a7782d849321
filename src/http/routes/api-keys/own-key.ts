import { withTimeout } from '../../../async/with-timeout.ts';
import type { KeyChange } from '../../../commands/api-key/change-key.ts';
import { noteRefusal } from '../../../commands/api-key/key-refusals.ts';
import { load } from '../../../commands/execute.ts';
import { apiKey, type ExistingApiKey, requireOwnKey } from '../../../domain/api-key/api-key.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { isNotedRefusal, type KeyChangeName } from '../../../domain/api-key/key-refusals.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { isId } from '../../../domain/ids.ts';
import type { Revision } from '../../../domain/ports/event-store.ts';
import { apiKeyStream } from '../../../domain/streams.ts';
import { ifMatch } from '../../consistency.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import type { Call, RouteContext } from '../../endpoint.ts';
import { type SerializedApiKey, serializeApiKey } from '../../schemas/api-key.ts';

/**
 * Loads a key that the caller may see: a test key sees test keys only.
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

/** Serializes keys with their usage and status. The key cache has caught up with the log first. */
export const serializeKeys = async (
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
    deps.logger.warn({ err: error, keyId: refused.key.keyId }, 'a refusal is missing in the history of a key');
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
  const { key }: { readonly key: ExistingApiKey } = await loadApiKey(route.deps, caller, id);
  try {
    return await work({ by: caller, keyId: id, loadKeyCache: route.auth.keyCache.load, ...ifMatch(request) });
  } catch (error) {
    if (error instanceof DomainError && isNotedRefusal(error.code))
      await note(route, call, { key, change, code: error.code });
    throw error;
  }
};
