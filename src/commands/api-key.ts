import {
  type ApiKey,
  apiKey,
  createKey as decideCreateKey,
  deleteKey as decideDeleteKey,
  expireKey as decideExpireKey,
  revokeKey as decideRevokeKey,
  rotateKey as decideRotateKey,
  updateKey as decideUpdateKey,
  type ExistingApiKey,
  type KeyChanges,
  type KeyCircumstances,
  type CreateKey as NewKey,
  type RotateKey as Rotation,
  requireOwnKey,
  works,
} from '../domain/api-key/api-key.ts';
import type { KeyAuthority } from '../domain/api-key/caller.ts';
import { type LoadKeyCache, replaces } from '../domain/api-key/key-cache-projection.ts';
import {
  noteRefusal as decideNoteRefusal,
  type KeyChangeName,
  keyRefusals,
  REFUSALS_PER_MINUTE_MAX,
} from '../domain/api-key/key-history.ts';
import { formatSecret, SECRET_RANDOM_BYTES, secretFacts } from '../domain/api-key/secret.ts';
import { fold, requireOwn } from '../domain/kernel/aggregate.ts';
import type { ErrorCode } from '../domain/kernel/errors.ts';
import type { ApiKeyEvent } from '../domain/kernel/events.ts';
import { formatId, ID_BYTES } from '../domain/kernel/ids.ts';
import { apiKeyStream, keyRefusalsStream, sendingDomainStream } from '../domain/kernel/streams.ts';
import { requireOwnDomain, sendingDomain } from '../domain/sending-domain/sending-domain.ts';
import {
  type Change,
  type CommandContext,
  eventContext,
  execute,
  executeOnce,
  internalOrigin,
  type LoadedStream,
  load,
  type Origin,
  retryConflicts,
} from './execute.ts';
import { readStream } from './foreign-events.ts';
import { type ReleaseAdminKeys, releaseAdminKeys } from './organization.ts';

/**
 * Use cases of API keys: create, update, rotate, revoke, delete, expire, and note what was refused. Every change of an
 * existing key goes through `changeKey`, which keeps the last admin key.
 */

/** Which key changes, and with whose authority. */
export interface KeyChange extends Change<ExistingApiKey> {
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

type LostKeys = ReturnType<ReleaseAdminKeys['lost']>;

/** Whether a working admin key stops working, or expires earlier. */
const losesPower = (key: ExistingApiKey, after: ApiKey, circumstances: KeyCircumstances): boolean =>
  key.permissions.includes('admin') &&
  works(key, circumstances) &&
  (after.status === 'absent' || !replaces(after, key));

/** Loads a key of the organization. @throws {DomainError} `not_found`, `other_organization`. */
export const loadOwnKey = async (
  { store }: Pick<CommandContext, 'store'>,
  organizationId: string,
  keyId: string,
): Promise<LoadedStream<ExistingApiKey>> => {
  const { state, revision } = await load(store, apiKey, apiKeyStream(keyId));
  return { state: requireOwnKey(state, organizationId), revision };
};

/**
 * Changes a key at the revision at which the change was decided. Before an admin key loses power, that is recorded in the
 * organization's stream, so that two requests cannot remove the last two. Only the operator may remove the last one.
 * @throws {DomainError} of the decision; `not_found`, `other_organization`, `last_admin_key`, `precondition_failed`,
 * `unavailable`; `resource_conflict` after too many conflicts.
 */
const changeKey = (
  context: CommandContext,
  origin: Origin,
  { by, keyId, loadKeyCache, atRevisions, ...change }: Decision,
): Promise<KeyAtRevision> => {
  let { known: loaded } = change;
  return retryConflicts(async () => {
    const known = loaded ?? (await loadOwnKey(context, origin.organizationId, keyId));
    loaded = undefined;
    const { keys } = await loadKeyCache();
    const circumstances: KeyCircumstances = {
      now: context.system.now().toISOString(),
      endedWithDomain: keys.get(keyId)?.endedWithDomain ?? false,
    };
    const { state: key, revision } = known;
    const changed = await executeOnce<ApiKey, ApiKeyEvent>(context, {
      aggregate: apiKey,
      stream: apiKeyStream(keyId),
      context: eventContext({ ...origin, environment: key.environment }, circumstances.now),
      known,
      ...(atRevisions === undefined ? {} : { atRevisions }),
      decide: () => change.decide(key, circumstances),
      beforeAppend: async (events, after) => {
        const isShutOut = change.shutsOut?.(events) === true;
        if (by === 'operator' || !losesPower(key, isShutOut ? apiKey.initial : after, circumstances)) return true;
        const lost = (): LostKeys => [{ key, revision: Number(revision) }];
        return releaseAdminKeys(context, origin, { loadKeyCache, domain: null, lost });
      },
    });
    // A key that existed before a change exists after it.
    return changed && { key: changed.state as ExistingApiKey, revision: Number(changed.revision) };
  });
};

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

export interface CreateKey extends Omit<NewKey, 'keyId' | 'secret'> {
  /** Chosen by the operator, well-formed (`readSecret`). Absent: generated. */
  readonly value?: string;
}

export interface KeyWithValue {
  readonly key: ExistingApiKey;
  /** The full key value, shown only now. */
  readonly value: string;
  readonly revision: number;
}

/**
 * Creates a key bound to a domain of the organization (spec §4).
 * @throws {DomainError} `not_found`, `other_organization` (the domain); `permission_missing`, `environment_not_allowed`.
 */
export const createKey = async (context: CommandContext, origin: Origin, command: CreateKey): Promise<KeyWithValue> => {
  const { system, store } = context;
  const { value: given, ...rest } = command;
  const domain = await load(store, sendingDomain, sendingDomainStream(rest.domainId));
  requireOwnDomain(domain.state, origin.organizationId);
  const value = given ?? formatSecret(rest.environment, system.randomBytes(SECRET_RANDOM_BYTES));
  const keyId = formatId('key', system.randomBytes(ID_BYTES));
  const { state, revision } = await execute(context, {
    aggregate: apiKey,
    stream: apiKeyStream(keyId),
    context: eventContext({ ...origin, environment: rest.environment }, system.now().toISOString()),
    decide: (before) => decideCreateKey(before, { ...rest, keyId, secret: secretFacts(value) }),
    known: { state: apiKey.initial, revision: 'no-stream' },
  });
  const key = requireOwn(state, origin.organizationId, 'API key');
  return { key, value, revision: Number(revision) };
};

export interface RotateKey extends KeyChange, Pick<Rotation, 'gracePeriodMinutes' | 'revokePrevious'> {
  /** Chosen by the operator. Absent: generated. */
  readonly value?: string;
}

export interface RotatedKey extends KeyWithValue {
  readonly previousKeyExpiresAt: string;
}

/**
 * Gives a key a new secret; the old one works until its grace period ends (spec §4).
 * @throws {DomainError} of `changeKey`; `permission_missing`, `key_not_active`, `too_many_live_secrets`.
 */
export const rotateKey = async (context: CommandContext, origin: Origin, command: RotateKey): Promise<RotatedKey> => {
  const { value: given, gracePeriodMinutes, revokePrevious, ...change } = command;
  const random = context.system.randomBytes(SECRET_RANDOM_BYTES);
  const valueFor = ({ environment }: ExistingApiKey): string => given ?? formatSecret(environment, random);
  const { key, revision } = await changeKey(context, origin, {
    ...change,
    decide: (before, circumstances) =>
      decideRotateKey(before, {
        ...circumstances,
        by: change.by,
        gracePeriodMinutes,
        revokePrevious,
        organizationId: origin.organizationId,
        secret: secretFacts(valueFor(before)),
      }),
  });
  // The rotation added the earlier secret.
  return {
    key,
    value: valueFor(key),
    revision,
    previousKeyExpiresAt: key.earlierSecrets.at(-1)?.expiresAt ?? key.createdAt,
  };
};

/** Ends a key and all its secrets. @throws {DomainError} of `changeKey`; `permission_missing`, `key_not_active`. */
export const revokeKey = (context: CommandContext, origin: Origin, change: KeyChange): Promise<KeyAtRevision> =>
  changeKey(context, origin, {
    ...change,
    decide: (state, circumstances) =>
      decideRevokeKey(state, { ...circumstances, by: change.by, organizationId: origin.organizationId }),
  });

/** Ends a key and removes it from the lists. @throws {DomainError} of `changeKey`; `permission_missing`. */
export const deleteKey = (context: CommandContext, origin: Origin, change: KeyChange): Promise<KeyAtRevision> =>
  changeKey(context, origin, {
    ...change,
    decide: (state) => decideDeleteKey(state, { by: change.by, organizationId: origin.organizationId }),
  });

/** Records that a key has expired, once. */
export const expireKey = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { keyId, actor }: { readonly keyId: string; readonly actor: string },
): Promise<void> => {
  const { store, system } = context;
  const stream = apiKeyStream(keyId);
  const known = await load(store, apiKey, stream);
  if (known.state.status === 'absent') return;
  const { organizationId, environment } = known.state;
  const now = system.now().toISOString();
  const origin = internalOrigin({ actor, organizationId, environment, causeId: system.uuid() });
  await execute(context, {
    aggregate: apiKey,
    stream,
    known,
    context: eventContext(origin, now),
    decide: (state) => decideExpireKey(state, now),
  });
};

/** Records a refused change for the key's history. */
export const noteRefusal = async (
  context: CommandContext,
  origin: Origin,
  refused: { readonly key: ExistingApiKey; readonly change: KeyChangeName; readonly code: ErrorCode },
): Promise<void> => {
  const { keyId, environment } = refused.key;
  const stream = keyRefusalsStream(keyId);
  const latest = await readStream(context.store, stream, { direction: 'backwards', limit: REFUSALS_PER_MINUTE_MAX });
  const at = context.system.now().toISOString();
  await execute(context, {
    aggregate: keyRefusals,
    stream,
    context: eventContext({ ...origin, environment }, at),
    known: { state: fold(keyRefusals, latest.toReversed()), revision: latest[0]?.revision ?? 'no-stream' },
    decide: (state) =>
      decideNoteRefusal(state, { keyId, change: refused.change, code: refused.code, actor: origin.actor, at }),
  });
};
