import {
  browserSupportsWebAuthn,
  bufferToBase64URLString,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import type { List } from '../../http/schemas/envelope.ts';
import type { SerializedSession } from '../../http/schemas/member.ts';
import type { SerializedChallenge, SerializedPasskey } from '../../http/schemas/passkey.ts';
import { request } from './api.ts';
import { session } from './credentials.ts';
import { provePresence } from './presence.ts';
import { askForPresence } from './presence-asked.ts';
import { type Proof, signInWith } from './session.ts';

/** Passkeys of the member. Loaded when they are needed: nobody else has to wait for it. */

const PATH = '/v1/passkeys';

const challenge = (): Promise<SerializedChallenge> =>
  request('/v1/session/challenges', { method: 'POST', body: {}, isSigningIn: true });

/** The person would rather not. */
const declined = (): Error => new DOMException('The member did not show that they are present.', 'AbortError');

/**
 * A challenge for a new passkey. Presence lasts as long as the challenge does, or is asked for first: a device must keep no
 * passkey that the service then refuses.
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

/** An authenticator need not send it where it is told which credential to use (WebAuthn §5.2.2). */
const handleOf = (memberId: string): string => bufferToBase64URLString(new TextEncoder().encode(memberId).buffer);

/** Whether this browser can, at this address. */
export const arePossible = (): boolean => browserSupportsWebAuthn() && !/^[\d.]+$|^\[/.test(location.hostname);

export const list = (): Promise<List<SerializedPasskey>> => request(PATH, { environment: 'live' });

/** @throws {Error} in words for people, or with the name `NotAllowedError`: they would rather not. */
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

/** What a passkey answers to a challenge. @param own ids of credentials; default: any that is for this service. */
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

/** @throws {Error} as `add`. */
export const signIn = async (): Promise<void> => signInWith(await answer());

/** Proves again who it is. @throws {Error} as `add`. */
export const prove = async (): Promise<void> => {
  const { data } = await list();
  await provePresence(await answer(data.map(({ credential_id }) => credential_id)));
};
