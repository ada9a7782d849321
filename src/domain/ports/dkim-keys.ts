import type { SigningKey } from '../../lib/smtp/smtp.ts';

/** PORT: generates keys that sign mail. Adapters: `adapters/dkim-keys/{generated,in-memory}`. */

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
