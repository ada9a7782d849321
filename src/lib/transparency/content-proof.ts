import { canonicalJson } from './canonical-json.ts';
import { completeRoots, joined, leafHash } from './merkle-tree.ts';

/**
 * How an event is bound to a content in the vault: the event has the root (RFC 9162) over the parts of the content. A
 * part's leaf is `[salt, name, value]` as canonical JSON, so that each part can be disclosed alone. The salt is as
 * secret as the value: once both are removed the hash remains, and without the salt values cannot be guessed from it.
 */

/** 128 bits. Fewer could be searched. */
export const SALT_BYTES = 16;

export const saltOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

export interface ContentPart {
  /**
   * Parts of a message: `recipient/<id>`, `head`, `shown`, `html`, `text`, `alternative/<n>`, `attachment/<n>`; also
   * `reply` and `client`.
   */
  readonly name: string;
  /** JSON. */
  readonly value: unknown;
}

export interface SaltedPart extends ContentPart {
  /** base64url */
  readonly salt: string;
}

/** Text of a part that is hashed. */
export const partLeaf = ({ salt, name, value }: SaltedPart): string => canonicalJson([salt, name, value]);

export const partHash = (part: SaltedPart): Buffer => leafHash(partLeaf(part));

/** `MTH` of the parts' hashes in order. */
export const rootOfParts = (hashes: readonly Buffer[]): Buffer => joined(completeRoots(Buffer.concat(hashes)));

/**
 * The root over a content with a single part, which equals the part's hash. Once the part is removed, the event itself
 * keeps its hash, and nothing is left in the vault. @returns base64
 */
export const rootOfPart = (part: SaltedPart): string => partHash(part).toString('base64');
