import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { sha256Hex } from '../kernel/digest.ts';
import { environmentSchema } from '../kernel/environment.ts';

/**
 * `ob_<kind>_` + 43 base62 characters for 256 random bits + 6 base62 characters for the CRC-32 of everything before.
 */
const SHAPE = /^ob_(live|test|audit|link|session)_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;

export const SECRET_RANDOM_BYTES = 32;

const base62 = (value: bigint, width: number): string => {
  let text = '';
  for (let rest = value; rest > 0n; rest /= 62n) text = BASE62[Number(rest % 62n)] + text;
  return text.padStart(width, '0');
};

const secretKinds = z.enum([...environmentSchema.options, 'audit', 'link', 'session']);
/** Purpose of a secret: key of an environment, auditor's token, sign-in link, or the session that the link starts. */
type SecretKind = z.infer<typeof secretKinds>;

/** Avoids big integers, because it runs on every request. */
const checksum = (text: string): string => {
  let characters = '';
  let rest = crc32(text);
  for (let index = 0; index < CHECKSUM_CHARACTERS; index += 1) {
    characters = (BASE62[rest % BASE62.length] as string) + characters;
    rest = Math.floor(rest / BASE62.length);
  }
  return characters;
};

/** @param randomBytes 32 bytes. */
export const formatSecret = (kind: SecretKind, randomBytes: Uint8Array): string => {
  const random = BigInt(`0x${Buffer.from(randomBytes.subarray(0, SECRET_RANDOM_BYTES)).toString('hex')}`);
  const text = `ob_${kind}_${base62(random, RANDOM_CHARACTERS)}`;
  return text + checksum(text);
};

/** The kind of a well-formed value; null if it can never have been issued. Needs no lookup. */
export const readSecret = (value: string): SecretKind | null => {
  const match = SHAPE.exec(value);
  if (match === null || checksum(value.slice(0, -CHECKSUM_CHARACTERS)) !== match[3]) return null;
  return match[1] as SecretKind; // the expression allows no other kind
};

/** The stored part of a secret. */
export interface SecretFacts {
  readonly hash: string;
  readonly first4: string;
  readonly last4: string;
}

const PREFIX_CHARACTERS = 'ob_live_'.length;

export const secretFacts = (value: string): SecretFacts => ({
  hash: sha256Hex(value),
  first4: value.slice(PREFIX_CHARACTERS, PREFIX_CHARACTERS + 4),
  last4: value.slice(-4),
});

/**
 * PORT: the last use of each secret of a key, to the minute, stored separately from the events. Adapter:
 * `adapters/usage-marks.ts`.
 */

/** A secret of a key. A rotated key keeps its id, and each of its secrets has its own mark. */
export interface UsedSecret {
  readonly keyId: string;
  /** SHA-256 of the secret, in hex. */
  readonly secretHash: string;
}

export interface UsageMark extends UsedSecret {
  readonly lastUsedAt: Date;
  /** Client address of the last request. */
  readonly lastAddress: string;
}

/** Longest time that a mark waits in memory. Higher: a crash loses more. Lower: needless writes. */
export const USAGE_FLUSH_MS = 60_000;

export interface UsageMarks {
  /** Records a use in memory, without a round trip or waiting. */
  mark(mark: UsageMark): void;
  /** Marks of these keys' secrets, including those in memory. Unused secrets have none. */
  of(keyIds: readonly string[]): Promise<readonly UsageMark[]>;
  /** Writes the marks in memory with one statement. */
  flush(): Promise<void>;
  /** Flushes a last time. */
  close(): Promise<void>;
}
