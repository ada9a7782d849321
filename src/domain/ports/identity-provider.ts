/**
 * PORT: the OpenID provider at which members sign in (OpenID Connect Core 1.0, authorization code flow with PKCE).
 * Adapter: `adapters/identity-provider/openid-connect.ts`.
 */

/** One sign-in at the provider. It ties the provider's response to the browser that started it. */
export interface OidcTransaction {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636 §4.1. */
  readonly codeVerifier: string;
}

/** The provider's response through the browser (RFC 6749 §4.1.2, RFC 9207 §2). */
export interface AuthorizationAnswer {
  readonly code: string;
  readonly state: string;
  /** Absent if the provider does not identify itself. */
  readonly issuer?: string | undefined;
}

/** The person who signed in, as confirmed by the provider. */
export interface Identity {
  readonly issuer: string;
  /** Null if the provider states none. */
  readonly address: string | null;
  /** Whether the provider has verified that the address belongs to the person. */
  readonly isVerified: boolean;
}

/** The provider does not respond, or not as an OpenID provider. A retry may succeed. */
export class IdentityProviderUnavailable extends Error {
  override readonly name = 'IdentityProviderUnavailable';
}

export interface IdentityProvider {
  /** Host of the issuer, for display. */
  readonly host: string;
  /**
   * URL at which the browser signs in.
   * @throws {IdentityProviderUnavailable}
   */
  authorizationUrl(transaction: OidcTransaction, redirectUri: string): Promise<string>;
  /**
   * Exchanges the code for the person's identity.
   * @returns null if the response is not from this provider, or not for this transaction.
   * @throws {IdentityProviderUnavailable}
   */
  identify(answer: AuthorizationAnswer, transaction: OidcTransaction, redirectUri: string): Promise<Identity | null>;
}
