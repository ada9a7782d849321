import {
  browserSupportsWebAuthn,
  bufferToBase64URLString,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import type { List } from '../../http/fields.ts';
import type { SerializedSession } from '../../http/resources/members/members.ts';
import type { SerializedChallenge, SerializedPasskey } from '../../http/resources/members/passkeys.ts';
import { askForPresence, request } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { type Proof, provePresence, signInWith } from '../data/session.ts';

/** The member's passkeys. Loaded on demand, so that other pages load faster. */

const PATH = '/v1/passkeys';

const challenge = (): Promise<SerializedChallenge> =>
  request('/v1/session/challenges', { method: 'POST', body: {}, isSigningIn: true });

/** The error for a cancelled prompt. */
const declined = (): Error => new DOMException('The member did not confirm their presence.', 'AbortError');

/**
 * A challenge for a new passkey. Proof of presence is requested first if needed. Otherwise a device could store a
 * passkey that the service then rejects.
 */
const challengeWhilePresent = async (): Promise<SerializedChallenge> => {
  const made = await challenge();
  const { present_until, first_passkey_until } = await request<SerializedSession>('/v1/session', {
    environment: 'live',
  });
  if ([present_until, first_passkey_until].some((until) => until !== null && until >= made.expires_at)) return made;
  if (!(await askForPresence())) throw declined();
  return challenge();
};

/**
 * Fallback for an authenticator that omits the user handle, as it may when the credential is named (WebAuthn §5.2.2).
 */
const handleOf = (memberId: string): string => bufferToBase64URLString(new TextEncoder().encode(memberId).buffer);

/** True if this browser supports passkeys at this address. */
export const arePossible = (): boolean => browserSupportsWebAuthn() && !/^[\d.]+$|^\[/.test(location.hostname);

export const list = (): Promise<List<SerializedPasskey>> => request(PATH, { environment: 'live' });

/** @throws {Error} with a message for people, or named `NotAllowedError` if the member cancels. */
export const add = async (): Promise<void> => {
  const member = session.get()?.member;
  if (!member) throw new Error('You are not signed in as a member.');
  const [{ challenge: asked, rp_id }, { data }] = await Promise.all([challengeWhilePresent(), list()]);
  const made = await startRegistration({
    optionsJSON: {
      challenge: asked,
      rp: { id: rp_id, name: 'Outbox' },
      user: {
        id: handleOf(member.id),
        name: member.email ?? member.name,
        displayName: member.name,
      },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ alg, type: 'public-key' })),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: data.map(({ credential_id }) => ({ id: credential_id, type: 'public-key' })),
    },
  });
  const { clientDataJSON, attestationObject } = made.response;
  const body = { credential_id: made.id, client_data: clientDataJSON, attestation_object: attestationObject };
  await request(PATH, { method: 'POST', environment: 'live', body });
};

/** Answers a challenge with a passkey. @param own credential ids; default: any passkey of this service. */
const answer = async (own: readonly string[] = []): Promise<Proof> => {
  const { challenge: asked, rp_id } = await challenge();
  const allowCredentials = own.map((id) => ({ id, type: 'public-key' as const }));
  const optionsJSON = { challenge: asked, rpId: rp_id, userVerification: 'required', allowCredentials } as const;
  const { id, response } = await startAuthentication({ optionsJSON });
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  return {
    passkey: {
      credential_id: id,
      client_data: clientDataJSON,
      authenticator_data: authenticatorData,
      signature,
      user_handle: userHandle ?? handleOf(session.get()?.member?.id ?? ''),
    },
  };
};

/** @throws {Error} like `add`. */
export const signIn = async (): Promise<void> => signInWith(await answer());

/** Proves the member's identity again. @throws {Error} like `add`. */
export const prove = async (): Promise<void> => {
  const { data } = await list();
  await provePresence(await answer(data.map(({ credential_id }) => credential_id)));
};
