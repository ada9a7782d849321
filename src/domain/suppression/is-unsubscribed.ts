import { covers, isInForce, type Suppression, type SuppressionEntry } from './suppression.ts';

export interface IsUnsubscribed {
  readonly stream: 'transactional' | 'bulk';
  /** When the recipient said so last. */
  readonly saidAt: string;
  /** ISO 8601. */
  readonly now: string;
}

const endOf = ({ removedAt, expiresAt }: SuppressionEntry): string | null => removedAt ?? expiresAt;

/**
 * Whether somebody's word that he wants no more mail still counts. It does while it is on the list, and before it got
 * there, which takes a moment; not once it was taken off, or has expired, after he said it.
 */
export const isUnsubscribed = (state: Suppression, { stream, saidAt, now }: IsUnsubscribed): boolean => {
  if (state.status === 'absent') return true;
  const unsubscribed = state.entries.filter(({ reason }) => reason === 'unsubscribe');
  if (unsubscribed.some((entry) => isInForce(entry, now) && covers(entry, stream))) return true;
  const ends = [state.removedAt, ...unsubscribed.filter((entry) => !isInForce(entry, now)).map(endOf)];
  return ends.every((end) => end === null || end < saidAt);
};
