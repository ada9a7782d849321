import type { SuppressionReason } from './events.ts';
import { covers, isInForce, type Suppression, type SuppressionEntry } from './suppression.ts';

/** What says most about why nothing is to be sent: the recipient's own word, then that of his server, then ours. */
const STRENGTH: readonly SuppressionReason[] = ['complaint', 'unsubscribe', 'bounce', 'manual', 'import'];

/** Whoever is sent nothing at all before whoever is sent no bulk mail; then by reason. */
const rank = ({ scope, reason }: SuppressionEntry): number =>
  (scope === 'all' ? 0 : STRENGTH.length) + STRENGTH.indexOf(reason);

export const strongest = (entries: readonly SuppressionEntry[]): SuppressionEntry | null =>
  entries.toSorted((left, right) => rank(left) - rank(right))[0] ?? null;

/**
 * What keeps mail of a stream from an address; null: nothing does.
 * @param now ISO 8601: what has expired by then is not in force.
 */
export const strongestEntry = (
  state: Suppression,
  stream: 'transactional' | 'bulk',
  now: string,
): SuppressionEntry | null => {
  if (state.status === 'absent') return null;
  return strongest(state.entries.filter((entry) => isInForce(entry, now) && covers(entry, stream)));
};
