/** A key that a domain's mail is signed with (RFC 6376, RFC 8463), its record seen in DNS. */
export interface SigningKey {
  /** A-labels, as `d=` says it. */
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256';
  /** PKCS#8 PEM. */
  readonly privateKey: string;
}
