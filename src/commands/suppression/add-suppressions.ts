import { mapConcurrently } from '../../async/map-concurrently.ts';
import { keyedDigest } from '../../domain/digest.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { canonicalAddress } from '../../domain/email-address.ts';
import type { CommandContext, Origin } from '../context.ts';
import { organizationSecret } from '../organization/organization-secret.ts';
import { type RecordedSuppression, type RecordSuppression, recordSuppression } from './record-suppression.ts';

/** What somebody says against an address. */
export interface AddSuppression
  extends Pick<RecordSuppression, 'environment' | 'reason' | 'scope' | 'expiresAt' | 'text'> {
  /** Parsed. */
  readonly address: string;
}

/**
 * Streams written at once: their appends share commits. More keep others' appends waiting, fewer wait for commits that
 * are not full.
 */
const LANES = 64;

/** How an organization knows an address. */
export const addressDigest = (secret: Uint8Array, address: string): string =>
  keyedDigest(secret, 'address', canonicalAddress(address));

/** A refusal concerns one address; a fault all of them. */
const orRefusal = async <T>(work: Promise<T>): Promise<T | DomainError> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
};

/**
 * Puts addresses on the list, each by itself: after a fault some may be on it, and to do it again completes it.
 * @returns in the order given; a refusal is `invalid_request` or `resource_conflict`.
 */
export const addSuppressions = async (
  context: Pick<CommandContext, 'store' | 'secrets' | 'system'>,
  origin: Origin,
  additions: readonly AddSuppression[],
): Promise<readonly (RecordedSuppression | DomainError)[]> => {
  const secret = await organizationSecret(context.secrets, origin.organizationId);
  return mapConcurrently(additions, { system: context.system, concurrency: LANES }, (addition) =>
    orRefusal(
      recordSuppression(context, origin, {
        ...addition,
        ...{ digest: addressDigest(secret, addition.address), source: null, happenedAt: null },
      }),
    ),
  );
};
