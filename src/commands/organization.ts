import { formatId, ID_BYTES } from '../domain/ids.ts';
import type { KeyCacheState, LoadKeyCache } from '../domain/key-cache.ts';
import {
  createOrganization as decideCreateOrganization,
  setCeilings as decideSetCeilings,
  organization,
} from '../domain/organization/organization.ts';
import {
  type ReleaseAdminKeys as Decision,
  releaseAdminKeys as decideReleaseAdminKeys,
} from '../domain/organization/release-admin-keys.ts';
import type { OperatorHost } from '../domain/ports/event-store.ts';
import type { Secrets } from '../domain/ports/secrets.ts';
import type { RateLimits } from '../domain/rate-limits.ts';
import { organizationStream } from '../domain/streams.ts';
import { type CommandContext, eventContext, internalOrigin, type Origin } from './context.ts';
import { execute, executeOnce, load } from './execute.ts';

const SECRET_BYTES = 32;

export interface NewOrganization {
  readonly name: string;
  readonly ceilings: RateLimits | null;
  /** Absent: created by the service at its first start. */
  readonly operator?: OperatorHost;
}

/** Creates an organization and its secret. @returns the organization's id. */
export const createOrganization = async (
  context: CommandContext,
  { operator, ...command }: NewOrganization,
): Promise<string> => {
  const { system, secrets } = context;
  const organizationId = formatId('org', system.randomBytes(ID_BYTES));
  await secrets.put(organizationId, organizationId, Buffer.from(system.randomBytes(SECRET_BYTES)).toString('base64'));
  await execute(context, {
    aggregate: organization,
    stream: organizationStream(organizationId),
    context: eventContext(
      {
        ...internalOrigin({ actor: 'operator', organizationId, causeId: system.uuid() }),
        ...(operator === undefined ? {} : { operator }),
      },
      system.now().toISOString(),
    ),
    decide: (state) => decideCreateOrganization(state, { organizationId, ...command }),
    known: { state: organization.initial, revision: 'no-stream' },
  });
  return organizationId;
};

/**
 * The organization's secret, which keys its digests and its idempotent message ids; 32 bytes. Stored in the vault under
 * the organization's id.
 * @throws {Error} the vault holds none: a fault.
 */
export const organizationSecret = async (secrets: Secrets, organizationId: string): Promise<Uint8Array> => {
  const stored = await secrets.get(organizationId);
  if (stored === undefined) throw new Error(`the vault holds no secret of organization ${organizationId}`);
  return Buffer.from(stored, 'base64');
};

/** Sets the highest rate limits of the organization's keys; null: none. @throws {DomainError} `not_found`. */
export const setCeilings = async (
  context: CommandContext,
  origin: Origin,
  ceilings: RateLimits | null,
): Promise<void> => {
  await execute(context, {
    aggregate: organization,
    stream: organizationStream(origin.organizationId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (state) => decideSetCeilings(state, ceilings),
  });
};

export interface ReleaseAdminKeys extends Pick<Decision, 'domain'> {
  readonly loadKeyCache: LoadKeyCache;
  /** The working admin keys that are about to lose their power. */
  lost(keyCache: KeyCacheState): Decision['lost'];
}

/**
 * Call before removing admin keys; then change them at the revisions named here (or delete their domain at its own). The
 * organization is read first: what others relied on when they wrote there is in the log, and so in the key cache loaded
 * after it.
 * @returns false: another request does the same. Start again.
 * @throws {DomainError} `last_admin_key`, `unavailable`.
 */
export const releaseAdminKeys = async (
  context: CommandContext,
  origin: Origin,
  { loadKeyCache, lost, domain }: ReleaseAdminKeys,
): Promise<boolean> => {
  const stream = organizationStream(origin.organizationId);
  const known = await load(context.store, organization, stream);
  const keyCache = await loadKeyCache();
  const now = context.system.now().toISOString();
  const released = await executeOnce(context, {
    aggregate: organization,
    stream,
    known,
    context: eventContext({ ...origin, environment: null }, now),
    decide: (state) => decideReleaseAdminKeys(state, { lost: lost(keyCache), domain, keyCache, now }),
  });
  return released !== null;
};
