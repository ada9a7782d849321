import type { z } from 'zod';
import type { SerializedSession } from '../../http/schemas/member.ts';
import type { assertionSchema } from '../../http/schemas/passkey.ts';
import type { OidcAnswer } from '../../http/schemas/sign-in.ts';
import { ApiFault, request } from './api.ts';
import { forgetKeys, noteSession, session } from './credentials.ts';
import { client } from './queries.ts';

/** Signing in and out as a member. */

const PATH = '/v1/session';

/** Asks who is signed in, if anybody may be. */
export const readSession = async (): Promise<void> => {
  if (session.get() !== undefined) return;
  const found = await request<SerializedSession>(PATH, { environment: 'live' }).catch((error: unknown) => {
    if (error instanceof ApiFault && error.status === 401) return null;
    throw error;
  });
  noteSession(found);
};

/** What proves who it is: the token of a link, what a passkey answered, or what an identity provider led back with. */
export type Proof =
  | { readonly token: string }
  | { readonly passkey: z.input<typeof assertionSchema> }
  | { readonly oidc: OidcAnswer };

/** @throws {ApiFault} */
export const signInWith = async (proof: Proof): Promise<void> => {
  const answer = await request<SerializedSession>(PATH, { method: 'POST', body: proof, isSigningIn: true });
  forgetKeys();
  client.clear();
  noteSession(answer);
};

/** Ends the session, or forgets the keys. */
export const signOut = async (): Promise<void> => {
  if (session.get()) await request(PATH, { method: 'DELETE', environment: 'live' }).catch(() => undefined);
  noteSession(null);
  forgetKeys();
  client.clear();
};
