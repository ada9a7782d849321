import type { Caller } from '../domain/caller.ts';
import { type AuthTools, requirePermission } from '../http/auth/auth.ts';
import { type Authenticated, authenticate } from '../http/auth/authenticate.ts';
import { consumeRateLimit } from '../http/auth/consume-rate-limit.ts';
import { ROUTES } from '../http/route-table.ts';

/** Who gave a key on this connection, so that it can be looked at again: keys end while connections last. */
export interface Admission {
  readonly key: string;
  /** The client's, of its socket. */
  readonly address: string;
  /** Of the key. */
  readonly organizationId: string;
}

/** The same key may do the same by either way. */
const RULE = ROUTES['POST /v1/messages/send'];

const letIn = async (door: AuthTools, { key, address }: Pick<Admission, 'key' | 'address'>): Promise<Authenticated> => {
  const admitted = await authenticate(door, `Bearer ${key}`, address);
  requirePermission(admitted.caller, RULE);
  return admitted;
};

/** Whether the key opens this door now. @throws {DomainError} by the catalogue, as HTTP does. */
export const admit = async (door: AuthTools, key: string, address: string): Promise<Admission> => {
  const { caller } = await letIn(door, { key, address });
  return { key, address, organizationId: caller.organizationId };
};

/** The same, as one more message begins, which counts against the key's limit. @throws {DomainError} by the catalogue. */
export const admitMessage = async (door: AuthTools, admission: Admission): Promise<void> => {
  await consumeRateLimit(door, await letIn(door, admission), { kind: RULE.kind, count: 1 }, null);
};

/** Who asks, as of now: a message may take long to arrive. @throws {DomainError} by the catalogue. */
export const callerNow = async (door: AuthTools, admission: Admission): Promise<Caller> =>
  (await letIn(door, admission)).caller;
