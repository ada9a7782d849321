import type { SigningKey } from '../../lib/smtp/smtp.ts';

/**
 * PORT: the vault's secrets, which must be readable again in clear, such as signing secrets of webhooks. They are
 * stored under the id that events name, and never changed. Adapter: `adapters/secrets/postgres.ts`.
 */
export interface Secrets {
  /** Stores a secret. An existing id keeps its first value. Durable when it resolves. */
  put(id: string, organizationId: string, plaintext: string): Promise<void>;
  /** @throws {WrongSecretKey} if it was encrypted with another key. */
  get(id: string): Promise<string | undefined>;
  /**
   * Destroys secrets; missing ones are ignored. A process may keep a secret that it has read in memory until it exits.
   */
  destroy(ids: readonly string[]): Promise<void>;
}

/** The stored secret cannot be decrypted with this process's key. */
export class WrongSecretKey extends Error {
  override readonly name = 'WrongSecretKey';
}

/** PORT: generates keys that sign mail. Adapter: `adapters/dkim-keys.ts`. */

export interface MadeDkimKey {
  readonly algorithm: SigningKey['algorithm'];
  /** PKCS#8 PEM. */
  readonly privateKey: string;
  /** Value of `p=`: base64 of the SubjectPublicKeyInfo (RFC 6376 §3.6.1), or of the bare Ed25519 key (RFC 8463 §4.2). */
  readonly publicKey: string;
}

export interface DkimKeys {
  /** Makes a pair: RSA-2048, which every receiver verifies, and Ed25519. @throws {DkimKeysBusy} */
  make(): Promise<readonly MadeDkimKey[]>;
}

/** Too many callers are waiting for keys. This one would not be served in time. */
export class DkimKeysBusy extends Error {
  override readonly name = 'DkimKeysBusy';
}
