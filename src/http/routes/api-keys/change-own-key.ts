import { withTimeout } from '../../../async/with-timeout.ts';
import type { KeyChange } from '../../../commands/api-key/change-key.ts';
import { noteRefusal } from '../../../commands/api-key/note-refusal.ts';
import type { ExistingApiKey } from '../../../domain/api-key/api-key.ts';
import { isNotedRefusal, type KeyChangeName } from '../../../domain/api-key/key-refusals.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import type { Call, RouteContext } from '../../endpoint.ts';
import { ifMatch } from '../../revisions.ts';
import { loadApiKey } from './load-api-key.ts';

/** Whoever was refused does not wait longer than this for it to be kept. */
const NOTE_MS_MAX = 1_000;

type AnyCall = Pick<Call<unknown, unknown>, 'caller' | 'origin' | 'id' | 'request'>;

/** A refusal is answered as it is, kept or not. */
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
 * Changes a key that the caller may see; a refusal that somebody will ask about is kept in the key's history.
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
