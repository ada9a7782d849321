import type { Caller } from '../domain/caller.ts';
import { type Admitted, authenticate } from '../http/door/authenticate.ts';
import { type DoorTools, requireRight } from '../http/door/door.ts';
import { spend } from '../http/door/spend.ts';
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

const letIn = async (door: DoorTools, { key, address }: Pick<Admission, 'key' | 'address'>): Promise<Admitted> => {
  const admitted = await authenticate(door, `Bearer ${key}`, address);
  requireRight(admitted.caller, RULE);
  return admitted;
};

/** Whether the key opens this door now. @throws {Refusal} by the catalogue, as HTTP does. */
export const admit = async (door: DoorTools, key: string, address: string): Promise<Admission> => {
  const { caller } = await letIn(door, { key, address });
  return { key, address, organizationId: caller.organizationId };
};

/** The same, as one more message begins, which counts against the key's limit. @throws {Refusal} by the catalogue. */
export const admitMessage = async (door: DoorTools, admission: Admission): Promise<void> => {
  await spend(door, await letIn(door, admission), { kind: RULE.kind, count: 1 }, null);
};

/** Who asks, as of now: a message may take long to arrive. @throws {Refusal} by the catalogue. */
export const callerNow = async (door: DoorTools, admission: Admission): Promise<Caller> =>
  (await letIn(door, admission)).caller;
