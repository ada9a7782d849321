import type { MessageEvent } from '../events.ts';
import { Refusal } from '../refusal.ts';
import type { Message } from './message.ts';

type Accepted = Extract<MessageEvent, { type: 'MessageAccepted' }>['data'];

/** Accepts once: the same request again changes nothing. @throws {Refusal} `idempotency_key_reused`. */
export const acceptMessage = (state: Message, accepted: Omit<Accepted, 'sequence'>): readonly MessageEvent[] => {
  if (state.status === 'absent') return [{ type: 'MessageAccepted', data: { ...accepted, sequence: 1 } }];
  if (state.accepted.bodyDigest === accepted.bodyDigest) return [];
  throw new Refusal('idempotency_key_reused', 'this Idempotency-Key was used with another request body');
};
