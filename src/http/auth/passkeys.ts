import { timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { withHostName } from '../../domain/kernel/addresses.ts';
import { keyedBytes } from '../../domain/kernel/digest.ts';
import type { Passkey } from '../../domain/member/member.ts';
import type { TrackingKeys } from '../../domain/tracking/tracking-token.ts';
import type { System } from '../../lib/async/async.ts';

/**
 * Passkeys as WebAuthn has them: challenges, and the check of what authenticators answer.
 *
 * A challenge holds when it ends, and a MAC over that and over a value in a cookie of the browser: none is stored, so that
 * no number of requests fills anything. It is used once because the session's id follows from it, and because a passkey
 * is added once.
 */

/** The relying party that passkeys are bound to (WebAuthn §5.4.2). */
export interface RelyingParty {
  /** Name of the host. */
  readonly id: string;
  /** Origins of pages that may use them. */
  readonly origins: readonly string[];
}

/**
 * @param port on which the request came: that of this machine may have been chosen by it.
 * @returns null: browsers make no passkeys for the address, which names no host or is plain HTTP (WebAuthn §5.1.3).
 */
export const relyingPartyOf = (publicUrl: string, port: number | undefined): RelyingParty | null => {
  const { hostname, protocol, origin } = withHostName(new URL(publicUrl));
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null;
  if (hostname === 'localhost' && port !== undefined)
    return { id: hostname, origins: [origin, `${protocol}//${hostname}:${port}`] };
  return protocol === 'https:' || hostname === 'localhost' ? { id: hostname, origins: [origin] } : null;
};

/** Time to find the phone or type a PIN. Longer: a stolen response stays usable for longer. */
export const CHALLENGE_SECONDS = 300;

const EXPIRY_BYTES = 6;
const NONCE_BYTES = 16;
const MAC_BYTES = 32;
const MAC_AT = EXPIRY_BYTES + NONCE_BYTES;
const CHALLENGE = /^[\w-]{72}$/;

/** Random value of the cookie that binds challenges to a browser. */
export const BROWSER_BYTES = 32;

type Keys = Pick<TrackingKeys[number], 'bytes'>;

const macOf = ({ bytes }: Keys, browser: string, head: Buffer): Buffer =>
  keyedBytes(bytes, 'passkey challenge', `${browser}\0${head.toString('base64url')}`);

/** @param browser value of its cookie. @returns 72 characters, base64url. */
export const makeChallenge = (
  [key]: TrackingKeys,
  browser: string,
  system: Pick<System, 'now' | 'randomBytes'>,
): string => {
  const head = Buffer.alloc(MAC_AT);
  head.writeUIntBE(system.now().getTime() + CHALLENGE_SECONDS * 1000, 0, EXPIRY_BYTES);
  head.set(system.randomBytes(NONCE_BYTES), EXPIRY_BYTES);
  return Buffer.concat([head, macOf(key, browser, head)]).toString('base64url');
};

/** Whether this service made it for this browser, and it has not ended. */
export const isChallenge = (keys: TrackingKeys, browser: string, challenge: string, now: Date): boolean => {
  if (!CHALLENGE.test(challenge)) return false;
  const bytes = Buffer.from(challenge, 'base64url');
  const [head, mac] = [bytes.subarray(0, MAC_AT), bytes.subarray(MAC_AT, MAC_AT + MAC_BYTES)];
  return (
    head.readUIntBE(0, EXPIRY_BYTES) > now.getTime() &&
    keys.some((key) => timingSafeEqual(mac, macOf(key, browser, head)))
  );
};

/** Read when a passkey is first used: it and its readers of certificates take 25 MB of memory. */
const webAuthn = async () => ({
  ...(await import('@simplewebauthn/server')),
  ...(await import('@simplewebauthn/server/helpers')),
});

interface ExpectedValues {
  readonly party: RelyingParty;
  readonly isExpected: (challenge: string) => boolean;
}

/** Response of `navigator.credentials.create`; all fields are base64url. */
export interface Registration {
  readonly credentialId: string;
  readonly clientData: string;
  readonly attestationObject: string;
}

/**
 * Statements about the make of an authenticator are not asked for, and are refused: checking their certificates would
 * make requests to addresses that they name. One that an authenticator signs itself has none.
 */
const isWithoutCertificates = (
  { decodeAttestationObject, isoBase64URL }: Awaited<ReturnType<typeof webAuthn>>,
  attestationObject: string,
): boolean => {
  const decoded = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
  const format = decoded.get('fmt');
  return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
};

/** @returns null if it is not a passkey for this service, or its user was not verified. */
export const verifyRegistration = async (
  { credentialId: id, clientData: clientDataJSON, attestationObject }: Registration,
  { party, isExpected }: ExpectedValues,
): Promise<Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'isSynced'> | null> => {
  const read = async () => {
    const library = await webAuthn();
    if (!isWithoutCertificates(library, attestationObject)) return null;
    const { verified, registrationInfo } = await library.verifyRegistrationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        response: { clientDataJSON, attestationObject },
        clientExtensionResults: {},
      },
      expectedChallenge: isExpected,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: true,
    });
    if (!verified || registrationInfo.credential.id !== id) return null;
    const { credential, credentialBackedUp } = registrationInfo;
    return {
      credentialId: credential.id,
      publicKey: library.isoBase64URL.fromBuffer(credential.publicKey),
      counter: credential.counter,
      isSynced: credentialBackedUp,
    };
  };
  // The library throws for any invalid input.
  return read().catch(() => null);
};

/** Response of `navigator.credentials.get`; all fields are base64url. */
export interface Assertion {
  readonly credentialId: string;
  readonly clientData: string;
  readonly authenticatorData: string;
  readonly signature: string;
}

export interface VerifiedAssertion {
  /** The signed challenge. */
  readonly challenge: string;
  /** Signatures so far; 0: the authenticator does not count. */
  readonly counter: number;
}

/** @returns null if this passkey did not sign a challenge of this service, or its owner was not verified. */
export const verifyAssertion = async (
  { credentialId: id, clientData: clientDataJSON, authenticatorData, signature }: Assertion,
  { credentialId, publicKey }: Pick<Passkey, 'credentialId' | 'publicKey'>,
  { party, isExpected }: ExpectedValues,
): Promise<VerifiedAssertion | null> => {
  let challenge = '';
  const read = async () => {
    const { verifyAuthenticationResponse, parseAuthenticatorData, isoBase64URL } = await webAuthn();
    const { verified } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        response: { clientDataJSON, authenticatorData, signature },
        clientExtensionResults: {},
      },
      expectedChallenge: (signed) => {
        challenge = signed;
        return isExpected(signed);
      },
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      // The count is the business of the members' aggregate.
      credential: { id: credentialId, publicKey: isoBase64URL.toBuffer(publicKey), counter: 0 },
      requireUserVerification: true,
    });
    const { counter } = parseAuthenticatorData(isoBase64URL.toBuffer(authenticatorData));
    return verified ? { challenge, counter } : null;
  };
  return read().catch(() => null);
};
