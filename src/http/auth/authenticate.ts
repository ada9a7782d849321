import { isWithin } from '../../domain/address-ranges.ts';
import { readSecret } from '../../domain/api-key/secret.ts';
import type { Caller } from '../../domain/caller.ts';
import { sha256Hex } from '../../domain/digest.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { System } from '../../domain/ports/system.ts';
import type { UsageMarks } from '../../domain/ports/usage-marks.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import type { CatchUpLimit } from './catch-up-limit.ts';
import type { KeyDirectory } from './key-directory.ts';
import type { ShownSecret } from './key-register.ts';

export interface AuthenticateTools {
  readonly directory: KeyDirectory;
  readonly catchUpLimit: CatchUpLimit;
  readonly usageMarks: UsageMarks;
  readonly system: System;
}

/** Whoever may come in, and how often. */
export interface Authenticated {
  readonly caller: Caller;
  readonly rateLimits: RateLimits;
  /** When, by the monotonic clock. */
  readonly atMs: number;
}

const BEARER = /^bearer +(\S+) *$/i;
/** Reading the log again takes less, unless it is away. */
const RETRY_AFTER_SECONDS = 1;

/** The message is the specification's (§7); what a header without a key in it lacks is beside it. */
const unauthorized = (authorization: string | undefined): DomainError => {
  const message = 'invalid or missing API key';
  if (BEARER.test(authorization ?? '')) return new DomainError('unauthorized', message);
  const problem = authorization === undefined ? 'is required' : 'is malformed';
  return new DomainError('unauthorized', message, {
    details: { Authorization: [`Authorization ${problem}: send Authorization: Bearer <API key>`] },
  });
};

const unavailable = (): DomainError =>
  new DomainError('unavailable', 'API keys cannot be checked just now', { retryAfterSeconds: RETRY_AFTER_SECONDS });

const isOver = ({ key, endsAt }: ShownSecret, nowMs: number): boolean =>
  (endsAt !== null && Date.parse(endsAt) <= nowMs) || (key.expiresAt !== null && Date.parse(key.expiresAt) <= nowMs);

/** The value of a header that could hold a key; null where no key ever looked like this. */
const shownValue = (authorization: string | undefined): string | null => {
  const value = BEARER.exec(authorization ?? '')?.[1];
  return value === undefined || readSecret(value) === null ? null : value;
};

/**
 * By SHA-256, which is enough against timing: whoever measures how far a look-up gets learns something of hashes, and
 * cannot make a value for one; the 256 random bits of the value itself are compared with nothing.
 */
const lookUp = async (
  { directory, catchUpLimit }: Pick<AuthenticateTools, 'directory' | 'catchUpLimit'>,
  hash: string,
  address: string,
): Promise<ShownSecret | undefined> => {
  if (directory.isFresh()) {
    const found = directory.find(hash);
    if (found !== undefined) return found;
  }
  // Stale for everybody, or unknown here: only the latter is a read that this address alone is the cause of.
  const mayCause = !directory.isFresh() || catchUpLimit.take(address);
  if (!(await (mayCause ? directory.catchUp() : directory.nextRead()))) throw unavailable();
  return directory.find(hash);
};

/**
 * The key behind an `Authorization` header (spec §5.7), without a round trip where the key is known.
 * @throws {DomainError} `unauthorized`, `address_not_allowed`, `unavailable`.
 */
export const authenticate = async (
  tools: AuthenticateTools,
  authorization: string | undefined,
  address: string,
): Promise<Authenticated> => {
  const { directory, usageMarks, system } = tools;
  const value = shownValue(authorization);
  const shown = value === null ? undefined : await lookUp(tools, sha256Hex(value), address);
  const now = system.now();
  if (shown === undefined || isOver(shown, now.getTime())) throw unauthorized(authorization);
  const { key, secretHash, number, ranges } = shown;
  if (key.allowedCidrs.length > 0 && !isWithin(ranges, address)) {
    throw new DomainError(
      'address_not_allowed',
      `API key is not allowed from this address, ${address}: use it from a network in its allowed_cidrs`,
    );
  }
  usageMarks.mark({ keyId: key.keyId, secretHash, lastUsedAt: now, lastAddress: address });
  return { caller: directory.callerOf(key, number), rateLimits: key.rateLimits, atMs: system.monotonicMs() };
};
