import { z } from 'zod';
import type { Passkey } from '../../domain/member/member.ts';
import { timeSchema } from './envelope.ts';

/** Passkeys of members, and the WebAuthn responses that browsers send. */

/** An authenticator's answer has a kilobyte; credential ids have 1,023 bytes at most (WebAuthn §5.8.3). */
const CHARACTERS_MAX = 8_000;

export const base64url = (description: string) =>
  z
    .string()
    .min(1)
    .max(CHARACTERS_MAX)
    .regex(/^[\w-]+$/, 'must be base64url without padding')
    .describe(description);

export const passkeySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('passkey'),
    credential_id: z.string().describe('Credential id that browsers and authenticators use (WebAuthn).'),
    synced: z.boolean().describe('The passkey is synced between devices.'),
    created_at: timeSchema(),
  })
  .meta({ id: 'Passkey' });

export type SerializedPasskey = z.infer<typeof passkeySchema>;

export const serializePasskey = ({ passkeyId, credentialId, isSynced, addedAt }: Passkey): SerializedPasskey => ({
  id: passkeyId,
  object: 'passkey',
  credential_id: credentialId,
  synced: isSynced,
  created_at: addedAt,
});

export const challengeSchema = z
  .strictObject({
    object: z.literal('challenge'),
    challenge: z.string().describe('base64url, to be signed.'),
    rp_id: z.string().describe('Relying party id: the host name that passkeys are bound to.'),
    expires_at: timeSchema(),
  })
  .meta({ id: 'Challenge' });

export type SerializedChallenge = z.infer<typeof challengeSchema>;

/** Response of `navigator.credentials.get`. */
export const assertionSchema = z.strictObject({
  credential_id: base64url('The `id` of the credential.'),
  client_data: base64url('Its `response.clientDataJSON`.'),
  authenticator_data: base64url('Its `response.authenticatorData`.'),
  signature: base64url('Its `response.signature`.'),
  user_handle: base64url('Its `response.userHandle`.'),
});
