import type { KeyCacheState, LoadKeyCache } from '../../domain/key-cache.ts';
import { organization, organizationStream } from '../../domain/organization/organization.ts';
import {
  type ReleaseAdminKeys as Decision,
  releaseAdminKeys as decide,
} from '../../domain/organization/release-admin-keys.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { load } from '../execute.ts';
import { executeOnce } from '../execute-once.ts';

export interface ReleaseAdminKeys extends Pick<Decision, 'domain'> {
  readonly loadKeyCache: LoadKeyCache;
  /** The working admin keys that are about to lose their power. */
  lost(keyCache: KeyCacheState): Decision['lost'];
}

/**
 * To be done before admin keys are taken away, which must then be changed at the very revisions named here (or their
 * domain deleted at its own). The organization is read first: whatever others counted on when they wrote there is in the
 * log, and so in the key cache that is loaded after it.
 * @returns false: others do the same at this moment. Begin again.
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
    ...{ aggregate: organization, stream, known },
    context: eventContext({ ...origin, environment: null }, now),
    decide: (state) => decide(state, { lost: lost(keyCache), domain, keyCache, now }),
  });
  return released !== null;
};
