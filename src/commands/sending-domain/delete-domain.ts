import type { KeyAuthority } from '../../domain/api-key/key-authority.ts';
import type { KeyCacheState, KeyEntry, LoadKeyCache } from '../../domain/key-cache.ts';
import { workingAdminKeys } from '../../domain/organization/release-admin-keys.ts';
import { deleteDomain as decideDeleteDomain } from '../../domain/sending-domain/change-domain.ts';
import { sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { sendingDomainStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, executeOnce, load, requireRevision, retryConflicts } from '../execute.ts';
import { releaseAdminKeys } from '../organization.ts';

export interface DeleteDomain extends Condition {
  readonly by: KeyAuthority;
  readonly domainId: string;
  readonly loadKeyCache: LoadKeyCache;
}

const boundTo = ({ keys }: KeyCacheState, domainId: string): readonly KeyEntry[] =>
  [...keys.values()].filter(
    ({ key, endedWithDomain }) => key.domainId === domainId && key.status === 'active' && !endedWithDomain,
  );

/** @returns null: another writer came first. */
const once = async (
  context: CommandContext,
  origin: Origin,
  { by, domainId, loadKeyCache, ...condition }: DeleteDomain,
): Promise<true | null> => {
  const { store, system } = context;
  const { organizationId } = origin;
  const stream = sendingDomainStream(domainId);
  const known = await load(store, sendingDomain, stream);
  requireRevision(condition, known);
  const now = system.now().toISOString();
  const keys = boundTo(await loadKeyCache(), domainId).map(({ key }) => key);
  const events = decideDeleteDomain(known.state, { by, organizationId, keys });
  const adminKeys = (fresh: KeyCacheState): readonly KeyEntry[] =>
    workingAdminKeys(fresh, organizationId, now).filter(({ key }) => key.domainId === domainId);
  // Also without admin keys: one may be created at this moment, and another request may rely on it.
  if (by !== 'operator') {
    const domain = { domainId, revision: Number(known.revision) };
    if (!(await releaseAdminKeys(context, origin, { loadKeyCache, lost: adminKeys, domain }))) return null;
  }
  const done = await executeOnce(context, {
    aggregate: sendingDomain,
    stream,
    known,
    context: eventContext({ ...origin, environment: null }, now),
    decide: () => events,
  });
  return done === null ? null : true;
};

/**
 * Deletes a domain at the revision at which that was decided. The keys bound to it end with it.
 * @throws {DomainError} of the decision; `last_admin_key`, `precondition_failed`, `unavailable`; `resource_conflict` after too
 * many conflicts.
 */
export const deleteDomain = async (context: CommandContext, origin: Origin, command: DeleteDomain): Promise<void> => {
  await retryConflicts(() => once(context, origin, command));
};
