import {
  type ReleaseAdminKeys as Decision,
  releaseAdminKeys as decideReleaseAdminKeys,
  type KeyCacheState,
  type LoadKeyCache,
} from '../domain/api-key/key-cache-projection.ts';
import type { Plans } from '../domain/billing/plan.ts';
import type { OperatorHost } from '../domain/kernel/event-store.ts';
import type { OrganizationEvent } from '../domain/kernel/events.ts';
import { formatId, ID_BYTES } from '../domain/kernel/ids.ts';
import type { RateLimits } from '../domain/kernel/rate-limits.ts';
import { organizationStream } from '../domain/kernel/streams.ts';
import type { MaskedRole } from '../domain/member/events.ts';
import type { OrganizationSettings } from '../domain/organization/events.ts';
import {
  type ActiveOrganization,
  changePlan as decideChangePlan,
  createOrganization as decideCreateOrganization,
  resumeOrganization as decideResumeOrganization,
  setCeilings as decideSetCeilings,
  setContentsRoles as decideSetContentsRoles,
  setLegalHold as decideSetLegalHold,
  suspendOrganization as decideSuspendOrganization,
  updateOrganization as decideUpdateOrganization,
  type Organization,
  organization,
  requireOrganization,
  type SettingChanges,
} from '../domain/organization/organization.ts';
import { type Contents, isRemoved, type MessageContents } from '../domain/ports/contents.ts';
import type { Secrets } from '../domain/ports/secrets.ts';
import { createMemo } from '../lib/async/async.ts';
import {
  type CommandContext,
  type CommandResult,
  type Condition,
  type Execution,
  eventContext,
  execute,
  executeOnce,
  internalOrigin,
  type LoadedStream,
  load,
  type Origin,
} from './execute.ts';

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

/** A few kilobytes. More organizations are decoded anew. */
const DECODED_MAX = 1_000;
/** By how they are stored. */
const decoded = createMemo<Uint8Array>(DECODED_MAX);

/**
 * The organization's secret, which keys its digests and its idempotent message ids; 32 bytes. Stored in the vault under
 * the organization's id.
 * @throws {Error} the vault holds none: a fault.
 */
export const organizationSecret = async (secrets: Secrets, organizationId: string): Promise<Uint8Array> => {
  const stored = await secrets.get(organizationId);
  if (stored === undefined) throw new Error(`the vault holds no secret of organization ${organizationId}`);
  // Always the same bytes, because caches of prepared secrets use them as key.
  return decoded(stored, () => Buffer.from(stored, 'base64'));
};

/** Decides on the caller's own organization. */
const changeOwn = (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  change: Pick<Execution<Organization, OrganizationEvent>, 'decide' | 'contents' | 'atRevisions' | 'known'>,
): Promise<CommandResult<Organization, OrganizationEvent>> =>
  execute(context, {
    ...change,
    aggregate: organization,
    stream: organizationStream(origin.organizationId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
  });

/** Sets the highest rate limits of the organization's keys; null: none. @throws {DomainError} `not_found`. */
export const setCeilings = async (
  context: CommandContext,
  origin: Origin,
  ceilings: RateLimits | null,
): Promise<void> => {
  await changeOwn(context, origin, { decide: (state) => decideSetCeilings(state, ceilings) });
};

/** Stops the sends of the organization. @throws {DomainError} `not_found`. */
export const suspendOrganization = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  reason: string,
): Promise<ActiveOrganization> => {
  const { state } = await changeOwn(context, origin, { decide: (found) => decideSuspendOrganization(found, reason) });
  return requireOrganization(state);
};

/** Lets the organization send again. @throws {DomainError} `not_found`. */
export const resumeOrganization = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  reason: string,
): Promise<void> => {
  await changeOwn(context, origin, { decide: (found) => decideResumeOrganization(found, reason) });
};

/** An organization with the address that its settings name. */
export interface OrganizationAtRevision extends Pick<LoadedStream<unknown>, 'revision'> {
  readonly organization: ActiveOrganization;
  /** null: it has none. */
  readonly contact: string | null;
}

/** null: no contact, or the person was erased. @throws {Error} if the vault lacks it, which is a fault. */
const contactOf = async (
  contents: Pick<Contents, 'get'>,
  { contactId }: Pick<OrganizationSettings, 'contactId'>,
): Promise<string | null> => {
  if (contactId === null) return null;
  const body = (await contents.get([contactId])).get(contactId);
  if (body !== undefined && isRemoved(body)) return null;
  if (body?.kind !== 'contact') throw new Error(`the vault holds no contact ${contactId}`);
  return body.address;
};

/** @throws {DomainError} `not_found`. */
const withContact = async (
  { contents }: Pick<CommandContext, 'contents'>,
  { state, revision }: LoadedStream<Organization>,
): Promise<OrganizationAtRevision> => {
  const found = requireOrganization(state);
  return { organization: found, revision, contact: await contactOf(contents, found.settings) };
};

/** @throws {DomainError} `not_found`, `unavailable`. */
export const loadOrganization = async (
  context: Pick<CommandContext, 'store' | 'contents'>,
  organizationId: string,
): Promise<OrganizationAtRevision> =>
  withContact(context, await load(context.store, organization, organizationStream(organizationId)));

/** Changes of settings. Undefined fields stay unchanged. */
export interface OrganizationChanges extends Omit<SettingChanges, 'contactId'> {
  /** Parsed address; null removes it. */
  readonly contact: string | null | undefined;
}

/** Changes what the organization decides for itself. @throws {DomainError} `not_found`, `precondition_failed`, `resource_conflict`. */
export const updateOrganization = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  origin: Origin,
  { changes: { contact, ...changes }, ...condition }: Condition & { readonly changes: OrganizationChanges },
): Promise<OrganizationAtRevision> => {
  const { organizationId } = origin;
  const known = await load(context.store, organization, organizationStream(organizationId));
  const before = await contactOf(context.contents, requireOrganization(known.state).settings);
  const isSame = contact === undefined || contact === before;
  const address: MessageContents[] =
    isSame || contact === null
      ? []
      : [{ id: context.system.uuid(), organizationId, body: { kind: 'contact', address: contact } }];
  const contactId = isSame ? undefined : (address[0]?.id ?? null);
  const { state, revision } = await changeOwn(context, origin, {
    ...condition,
    decide: (found) => decideUpdateOrganization(found, { ...changes, contactId }),
    contents: address,
    known,
  });
  return { organization: requireOrganization(state), revision, contact: isSame ? before : contact };
};

/** Begins or ends a legal hold. @throws {DomainError} `not_found`, `precondition_failed`, `resource_conflict`. */
export const setLegalHold = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  origin: Origin,
  { active, ...condition }: Condition & { readonly active: boolean },
): Promise<OrganizationAtRevision> => {
  const changed = await changeOwn(context, origin, {
    ...condition,
    decide: (found) => decideSetLegalHold(found, active),
  });
  return withContact(context, changed);
};

/** Says which masked roles see contents of mail. @throws {DomainError} `not_found`, `precondition_failed`, `resource_conflict`. */
export const setContentsRoles = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  origin: Origin,
  { roles, ...condition }: Condition & { readonly roles: readonly MaskedRole[] },
): Promise<OrganizationAtRevision> => {
  const decide = (found: Organization): readonly OrganizationEvent[] => decideSetContentsRoles(found, roles);
  return withContact(context, await changeOwn(context, origin, { ...condition, decide }));
};

/** True if a legal hold protects an organization's data. */
export const isHeld = async ({ store }: Pick<CommandContext, 'store'>, organizationId: string): Promise<boolean> => {
  const { state } = await load(store, organization, organizationStream(organizationId));
  return state.status !== 'absent' && state.heldSince !== null;
};

/** @throws {DomainError} `not_found`, `plan_not_offered`, `precondition_failed`, `resource_conflict`. */
export const changePlan = async (
  context: CommandContext,
  origin: Origin,
  {
    planId,
    plans,
    byOperator,
    ...condition
  }: Condition & { readonly planId: string; readonly plans: Plans; readonly byOperator?: boolean },
): Promise<Omit<OrganizationAtRevision, 'contact'>> => {
  const now = context.system.now().toISOString();
  const { state, revision } = await changeOwn(context, origin, {
    ...condition,
    decide: (before) => decideChangePlan(before, { plans, planId, now, byOperator }),
  });
  return { organization: requireOrganization(state), revision };
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
