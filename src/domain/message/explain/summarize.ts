import type { Recipient } from '../message.ts';
import { REFUSED } from '../record-attempt.ts';
import { RECIPIENT_STATUSES, type RecipientStatus } from '../status.ts';
import { atTime } from './at-time.ts';
import type { ExplainedWait } from './explanation.ts';
import { type Happening, listed, type View } from './view.ts';

/** What has become of one who is not waited for any more, in the plural and the singular alike. */
const ENDED: Readonly<Record<Exclude<RecipientStatus, 'accepted' | 'scheduled' | 'sending' | 'deferred'>, string>> = {
  delivered: 'delivered',
  bounced: 'refused for good',
  failed: 'failed',
  suppressed: 'suppressed',
  cancelled: 'cancelled',
  expired: 'expired',
};

const ENDINGS: ReadonlySet<Happening['type']> = new Set([
  ...(['RecipientDelivered', 'RecipientBounced', 'RecipientExpired'] as const),
  ...(['RecipientFailed', 'RecipientSuppressed', 'RecipientCancelled'] as const),
]);

const wordOf = (status: RecipientStatus): string => (status in ENDED ? ENDED[status as keyof typeof ENDED] : 'waiting');

/** `1 delivered, 2 waiting`. */
const counted = (recipients: readonly Recipient[]): readonly string[] => {
  const counts = new Map<string, number>();
  const inOrder = [...recipients].sort(
    (left, right) => RECIPIENT_STATUSES.indexOf(left.status) - RECIPIENT_STATUSES.indexOf(right.status),
  );
  for (const { status } of inOrder) counts.set(wordOf(status), (counts.get(wordOf(status)) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`);
};

const standing = (recipients: readonly Recipient[]): string => {
  const [only] = recipients;
  if (recipients.length === 1 && only !== undefined) return `Its only recipient is ${wordOf(only.status)}`;
  const counts = counted(recipients);
  return counts.length === 1
    ? `All of its ${recipients.length} recipients are ${counts[0]?.replace(/^\d+ /, '')}`
    : `Of its ${recipients.length} recipients, ${listed(counts)}`;
};

const marks = (recipients: readonly Recipient[]): string => {
  const complained = recipients.filter((each) => each.complained).length;
  const unsubscribed = recipients.filter((each) => each.unsubscribedAt !== null).length;
  return [
    ...(complained === 0 ? [] : [`; ${complained} complained of it`]),
    ...(unsubscribed === 0 ? [] : [`; ${unsubscribed} unsubscribed`]),
  ].join('');
};

/** Whoever is waited for shortest; what may happen at any moment comes before what has a time. */
const soonest = (waits: readonly ExplainedWait[]): ExplainedWait | undefined =>
  [...waits].sort((left, right) => ((left.next_attempt_at ?? '') < (right.next_attempt_at ?? '') ? -1 : 1))[0];

/** One sentence: how it stands, and why, and what happens next. */
export const summarize = (view: View, waits: readonly ExplainedWait[]): string => {
  const { recipients } = view.message;
  const next = soonest(waits);
  if (next !== undefined) return `${standing(recipients)}${marks(recipients)}: ${next.sentence}`;
  const end = view.happenings.findLast(({ type }) => ENDINGS.has(type));
  const since = end === undefined ? '' : ` since ${atTime(end.metadata.occurredAt)}`;
  // That they were refused is said already.
  const reasons = recipients
    .filter(({ status }) => status !== 'delivered')
    .flatMap(({ reason }) => (reason === null || reason === REFUSED ? [] : reason));
  const why = reasons.length === 0 ? '' : ` (${listed([...new Set(reasons)].slice(0, 3))})`;
  return `${standing(recipients)}${why}${marks(recipients)}; it has its end${since}, and nothing more is tried.`;
};
