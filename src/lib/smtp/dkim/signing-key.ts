/** A signing key of a domain (RFC 6376, RFC 8463) whose record was found in DNS. */
export interface SigningKey {
  /** A-labels, as in `d=`. */
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256';
  /** PKCS#8 PEM. */
  readonly privateKey: string;
}
