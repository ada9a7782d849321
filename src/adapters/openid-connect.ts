import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetchOptions,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
} from 'openid-client';
import { type Identity, type IdentityProvider, IdentityProviderUnavailable } from '../domain/member/session.ts';
import type { Logger, System } from '../lib/async/async.ts';

/**
 * An OpenID provider through `openid-client`. The provider's metadata is read on sign-in rather than at the start, so a
 * provider that is down does not prevent the start. Signatures of ID tokens are verified too.
 */
export interface OpenIdConnectOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly system: Pick<System, 'monotonicMs'>;
  readonly logger: Logger;
  /** Time-out of each request. Default: `TIMEOUT_SECONDS`. */
  readonly timeoutSeconds?: number;
}

/** The three requests of one sign-in must end within the deadline of a request. */
const TIMEOUT_SECONDS = 4;
/** Metadata and keys take some kilobytes. Larger responses are rejected. */
const ANSWER_BYTES_MAX = 256_000;
/** Longer: moved endpoints are noticed late. The provider's keys are fetched again whenever one is unknown. */
const METADATA_MS = 3_600_000;
const SCOPE = 'openid email';

const readAtMost = async (stream: ReadableStream<Uint8Array> | null): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream ?? []) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > ANSWER_BYTES_MAX) throw new IdentityProviderUnavailable('its answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const SERVER_FAULT = 500;
/** Statuses whose responses have no body (Fetch, null body status). */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

/** A fetch with bounded responses, which distinguishes a provider that is down from one that rejects. */
const boundedFetch = async (url: string, options: CustomFetchOptions): Promise<Response> => {
  try {
    const { status, headers, body } = await fetch(url, options as RequestInit);
    if (status >= SERVER_FAULT) throw new IdentityProviderUnavailable(`it answered ${status}`);
    const bytes = await readAtMost(body);
    return new Response(EMPTY.has(status) ? null : bytes, { status, headers });
  } catch (cause) {
    if (cause instanceof IdentityProviderUnavailable) throw cause;
    throw new IdentityProviderUnavailable('it does not answer', { cause });
  }
};

/**
 * Picks a method that the provider supports. All support the first, which is the default (OpenID Connect Discovery §3).
 */
const clientAuth = (secret: string): ClientAuth => {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server;
    (methods.includes('client_secret_basic') ? basic : post)(server, client, body, headers);
  };
};

const isAway = (error: unknown): boolean =>
  error instanceof IdentityProviderUnavailable || (error instanceof Error && isAway(error.cause));

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export const createOpenIdConnect = (options: OpenIdConnectOptions): IdentityProvider => {
  const { issuer, clientId, clientSecret, system, logger, timeoutSeconds = TIMEOUT_SECONDS } = options;
  const server = new URL(issuer);
  let known: { readonly config: Configuration; readonly atMs: number } | null = null;
  let discovering: Promise<Configuration> | null = null;

  const discover = async (): Promise<Configuration> => {
    const config = await discovery(server, clientId, clientSecret, clientAuth(clientSecret), {
      [customFetch]: boundedFetch,
      timeout: timeoutSeconds,
      execute: [enableNonRepudiationChecks, ...(server.protocol === 'http:' ? [allowInsecureRequests] : [])],
    }).catch((err: unknown) => {
      logger.warn({ err, issuer }, "cannot read the identity provider's configuration");
      throw new IdentityProviderUnavailable('its metadata cannot be read', { cause: err });
    });
    known = { config, atMs: system.monotonicMs() };
    return config;
  };

  const configuration = async (): Promise<Configuration> => {
    if (known !== null && system.monotonicMs() - known.atMs < METADATA_MS) return known.config;
    discovering ??= discover().finally(() => {
      discovering = null;
    });
    return discovering;
  };

  return {
    host: server.host,

    authorizationUrl: async ({ state, nonce, codeVerifier }, redirectUri) => {
      const url = buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
      return url.href;
    },

    identify: async ({ code, state, issuer: said }, transaction, redirectUri) => {
      const config = await configuration();
      const answer = new URL(redirectUri);
      answer.search = new URLSearchParams({ code, state, ...(said === undefined ? {} : { iss: said }) }).toString();
      const exchange = async (): Promise<Identity | null> => {
        const tokens = await authorizationCodeGrant(config, answer, {
          expectedState: transaction.state,
          expectedNonce: transaction.nonce,
          pkceCodeVerifier: transaction.codeVerifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) return null;
        const isComplete = claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined;
        const told = isComplete ? claims : await fetchUserInfo(config, tokens.access_token, claims.sub);
        return { issuer: claims.iss, address: text(told.email), isVerified: told.email_verified === true };
      };
      return exchange().catch((error: unknown) => {
        // Tokens and claims are in the causes, which are not logged.
        const { code: reason, message } = error as { readonly code?: unknown; readonly message?: unknown };
        logger.warn({ issuer, reason, message }, 'a sign-in through the identity provider failed');
        if (isAway(error)) throw new IdentityProviderUnavailable('it does not answer', { cause: error });
        return null;
      });
    },
  };
};
