import type { z } from 'zod';
import type { SerializedSession } from '../../http/resources/members/members.ts';
import type { MembershipChoice } from '../../http/resources/members/oidc.ts';
import type { SerializedOperations } from '../../http/resources/members/operations.ts';
import type { assertionSchema } from '../../http/resources/members/passkeys.ts';
import { noteAccess, OPERATIONS_PATH } from './access.ts';
import { ApiFault, request, SESSION_PATH } from './api.ts';
import { forgetKeys, hasEnded, noteSession, session } from './credentials.ts';
import { announceSignOut } from './live.ts';
import { dropHolds, linkTo } from './location.ts';
import { client } from './queries.ts';

/** Member sign-in and sign-out. */

/** Reads the current session, if there may be one. */
export const readSession = async (): Promise<void> => {
  if (session.get() !== undefined) return;
  const [found, operations] = await Promise.all([
    request<SerializedSession>(SESSION_PATH, { environment: 'live' }).catch((error: unknown) => {
      if (error instanceof ApiFault && error.status === 401) return null;
      throw error;
    }),
    request<SerializedOperations>(OPERATIONS_PATH, { environment: 'live' }).catch(() => null),
  ]);
  noteSession(found);
  if (found !== null) noteAccess('live', operations);
};

/**
 * Proof of identity: a link token, a passkey response, or a membership chosen after signing in at the identity
 * provider.
 */
export type Proof =
  | { readonly token: string }
  | { readonly passkey: z.input<typeof assertionSchema> }
  | { readonly membership: MembershipChoice };

const NONCE_BYTES = 32;
const ATTEMPTS = 3;
const RETRY_MS = 1_000;

/** A proof can be used once. Reusing its nonce repeats the answer if the first one was lost. */
let last = { proof: '', nonce: '' };

const nonceFor = (proof: string): string => {
  if (last.proof !== proof) {
    const bytes = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const nonce = btoa(String.fromCharCode(...bytes));
    last = { proof, nonce: nonce.replaceAll('+', '-').replaceAll('/', '_').replace('=', '') };
  }
  return last.nonce;
};

const mayComeBack = (error: unknown): boolean => error instanceof ApiFault && error.isTransient && error.status !== 429;

/** @throws {ApiFault} */
const spend = async (proof: Proof, attempt = 1): Promise<SerializedSession> => {
  const body = { ...proof, nonce: nonceFor(JSON.stringify(proof)) };
  try {
    return await request<SerializedSession>(SESSION_PATH, { method: 'POST', body, isSigningIn: true });
  } catch (error) {
    if (attempt === ATTEMPTS || !mayComeBack(error)) throw error;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    return spend(proof, attempt + 1);
  }
};

const isSamePerson = (one: SerializedSession, other: SerializedSession): boolean =>
  one.member?.id === other.member?.id && one.organization.id === other.organization.id;

/** Begins a session, or goes on where an earlier one of the same member has ended. */
const begin = (found: SerializedSession): void => {
  const before = session.get();
  const isResumed = hasEnded.get() && before != null;
  if (isResumed && !isSamePerson(before, found)) {
    // The screen shows another member's data.
    dropHolds();
    location.assign(linkTo(''));
    return;
  }
  forgetKeys();
  if (!isResumed) client.clear();
  noteSession(found);
  if (isResumed) void client.invalidateQueries();
};

/** @throws {ApiFault} */
export const signInWith = async (proof: Proof): Promise<void> => begin(await spend(proof));

/** Goes on if the member has signed in again in another tab. */
export const resumeSession = async (): Promise<void> => {
  const found = await request<SerializedSession>(SESSION_PATH, { environment: 'live' }).catch(() => null);
  if (found !== null && hasEnded.get()) begin(found);
};

/** Clears the session after it ended in this tab or another one. */
export const noteSignedOut = (): void => {
  dropHolds();
  noteSession(null);
  forgetKeys();
  client.clear();
};

/** Ends the session in all tabs, or deletes this tab's keys. */
export const signOut = async (): Promise<void> => {
  if (session.get()) {
    await request(SESSION_PATH, { method: 'DELETE', environment: 'live' }).catch(() => undefined);
    announceSignOut();
  }
  noteSignedOut();
};

/** @throws {ApiFault} */
export const provePresence = async (proof: Proof): Promise<void> =>
  noteSession(
    // An invalid proof must not end the session.
    await request<SerializedSession>('/v1/session/presence', { method: 'POST', body: proof, isSigningIn: true }),
  );
