import {
  type ApiKey,
  apiKey,
  type ExistingApiKey,
  type KeyCircumstances,
  requireOwnKey,
  works,
} from '../../domain/api-key/api-key.ts';
import type { KeyAuthority } from '../../domain/api-key/key-authority.ts';
import { updateKey as decideUpdateKey, type KeyChanges } from '../../domain/api-key/update-key.ts';
import type { ApiKeyEvent } from '../../domain/events.ts';
import type { LoadKeyCache } from '../../domain/key-cache.ts';
import { replaces } from '../../domain/organization/release-admin-keys.ts';
import { apiKeyStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, executeOnce, load, requireRevision, retryConflicts } from '../execute.ts';
import { type ReleaseAdminKeys, releaseAdminKeys } from '../organization.ts';

/** Which key changes, and with whose authority. */
export interface KeyChange extends Condition {
  readonly by: KeyAuthority;
  readonly keyId: string;
  readonly loadKeyCache: LoadKeyCache;
}

interface Decision extends KeyChange {
  decide(key: ExistingApiKey, circumstances: KeyCircumstances): readonly ApiKeyEvent[];
  /** Whether these events would lock out the requester. */
  shutsOut?(events: readonly ApiKeyEvent[]): boolean;
}

export interface KeyAtRevision {
  readonly key: ExistingApiKey;
  readonly revision: number;
}

type Lost = ReturnType<ReleaseAdminKeys['lost']>;

/** Whether a working admin key stops working, or expires earlier. */
const losesPower = (key: ExistingApiKey, after: ApiKey, circumstances: KeyCircumstances): boolean =>
  key.permissions.includes('admin') &&
  works(key, circumstances) &&
  (after.status === 'absent' || !replaces(after, key));

/** @returns null: another writer came first. */
const once = async (context: CommandContext, origin: Origin, change: Decision): Promise<KeyAtRevision | null> => {
  const { store, system } = context;
  const { by, keyId, loadKeyCache } = change;
  const stream = apiKeyStream(keyId);
  const known = await load(store, apiKey, stream);
  const key = requireOwnKey(known.state, origin.organizationId);
  const revision = Number(known.revision);
  requireRevision(change, known);
  const { keys } = await loadKeyCache();
  const circumstances: KeyCircumstances = {
    now: system.now().toISOString(),
    endedWithDomain: keys.get(keyId)?.endedWithDomain ?? false,
  };
  const events = change.decide(key, circumstances);
  if (events.length === 0) return { key, revision };
  const metadata = eventContext({ ...origin, environment: key.environment }, circumstances.now);
  const after = events.reduce<ApiKey>((state, event) => apiKey.evolve(state, event, metadata), key);
  const takesPower = losesPower(key, change.shutsOut?.(events) === true ? apiKey.initial : after, circumstances);
  if (by !== 'operator' && takesPower) {
    const lost = (): Lost => [{ key, revision }];
    if (!(await releaseAdminKeys(context, origin, { loadKeyCache, domain: null, lost }))) return null;
  }
  const decide = (): readonly ApiKeyEvent[] => events;
  const done = await executeOnce(context, { aggregate: apiKey, stream, context: metadata, decide, known });
  return done === null ? null : { key: done.state as ExistingApiKey, revision: Number(done.revision) }; // it existed before
};

/**
 * Changes a key at the revision at which the change was decided. Before an admin key loses power, that is recorded in the
 * organization's stream, so that two requests cannot remove the last two. Only the operator may remove the last one.
 * @throws {DomainError} of the decision; `not_found`, `other_organization`, `last_admin_key`, `precondition_failed`,
 * `unavailable`; `resource_conflict` after too many conflicts.
 */
export const changeKey = (context: CommandContext, origin: Origin, change: Decision): Promise<KeyAtRevision> =>
  retryConflicts(() => once(context, origin, change));

export interface UpdateKey extends KeyChange {
  readonly changes: KeyChanges;
  /** The networks in `changes` exclude the address of the requester. */
  readonly leavesOutRequester: boolean;
}

/**
 * Changes a key's name, permissions, limits, networks or expiry.
 * @throws {DomainError} of `changeKey`; `permission_missing`, `key_not_active`.
 */
export const updateKey = (
  context: CommandContext,
  origin: Origin,
  { changes, leavesOutRequester, ...change }: UpdateKey,
): Promise<KeyAtRevision> =>
  changeKey(context, origin, {
    ...change,
    decide: (state, circumstances) =>
      decideUpdateKey(state, { ...circumstances, changes, by: change.by, organizationId: origin.organizationId }),
    shutsOut: (events) =>
      leavesOutRequester && events.some(({ type, data }) => type === 'KeyUpdated' && data.allowedCidrs !== undefined),
  });
