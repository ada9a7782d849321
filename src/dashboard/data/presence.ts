import type { SerializedSession } from '../../http/schemas/member.ts';
import { request } from './api.ts';
import { noteSession } from './credentials.ts';
import type { Proof } from './session.ts';

/** @throws {ApiFault} */
export const provePresence = async (proof: Proof): Promise<void> =>
  noteSession(
    // An invalid proof must not end the session.
    await request<SerializedSession>('/v1/session/presence', { method: 'POST', body: proof, isSigningIn: true }),
  );
