/**
 * PORT: the OpenID provider at which members sign in (OpenID Connect Core 1.0, authorization code flow with PKCE).
 * Adapter: `adapters/identity-provider/openid-connect.ts`.
 */

/** One sign-in at the provider: what ties its answer to the browser that asked. */
export interface OidcTransaction {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636 §4.1. */
  readonly codeVerifier: string;
}

/** What the provider told the browser (RFC 6749 §4.1.2, RFC 9207 §2). */
export interface AuthorizationAnswer {
  readonly code: string;
  readonly state: string;
  /** Absent: the provider does not say who it is. */
  readonly issuer?: string | undefined;
}

/** Who signed in, as the provider has confirmed. */
export interface Identity {
  readonly issuer: string;
  /** null: it tells none. */
  readonly address: string | null;
  /** The provider has verified that the address is theirs. */
  readonly isVerified: boolean;
}

/** It does not answer, or not as a provider does. It is worth another try. */
export class IdentityProviderUnavailable extends Error {
  override readonly name = 'IdentityProviderUnavailable';
}

export interface IdentityProvider {
  /** Of its issuer, to be shown. */
  readonly host: string;
  /**
   * Where the browser goes to sign in.
   * @throws {IdentityProviderUnavailable}
   */
  authorizationUrl(transaction: OidcTransaction, redirectUri: string): Promise<string>;
  /**
   * Exchanges the code for what the provider says of the person.
   * @returns null: the answer is not of this provider, or not of this transaction.
   * @throws {IdentityProviderUnavailable}
   */
  identify(answer: AuthorizationAnswer, transaction: OidcTransaction, redirectUri: string): Promise<Identity | null>;
}
