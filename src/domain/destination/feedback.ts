import type { BounceCategory } from '../bounce/categories.ts';
import type { SmtpFacts } from '../message/events.ts';
import type { AttemptOutcome } from '../message/record-attempt.ts';

/** Effect of an attempt's outcomes on the destination as a whole, whatever happened to the recipients. */
export type Feedback = 'flowing' | 'slow' | 'busy' | 'refusing' | 'unreachable';

/**
 * RFC 3463 §3.3: status of one mailbox, such as Gmail's 4.2.1 "receiving mail too quickly". §3.6, X.5.3: too many
 * recipients in one transaction.
 */
const OF_ONE = /^[245]\.(?:2\.\d{1,3}|5\.3)$/;
/** RFC 5321 §4.5.3.1.10: this code without an enhanced code, in reply to RCPT. */
const TOO_MANY_RECIPIENTS = 452;

/**
 * Whether the reply concerns one mailbox or one transaction. It then says nothing about the load of the destination.
 */
const isOfOne = ({ code, enhanced, stage }: Pick<SmtpFacts, 'code' | 'enhanced' | 'stage'>): boolean =>
  enhanced === null ? code === TOO_MANY_RECIPIENTS && stage === 'recipient' : OF_ONE.test(enhanced);

/** RFC 5321 §3.8 and §4.2.2: the server closes the session, or the service for now. */
const CLOSING = 421;
/** Categories that concern the server or this service, not the recipient or the message. */
const BUSY: ReadonlySet<BounceCategory> = new Set(['rate_limited', 'reputation']);
/** Categories that concern the sender's address or the message even at MAIL, or a delay that every new sender gets. */
const NOT_OF_LOAD: ReadonlySet<BounceCategory> = new Set([
  'greylisted',
  'sender_rejected',
  'authentication',
  'relay_denied',
  'spam',
  'content_rejected',
  'too_large',
  'policy',
]);
/** RFC 3463 §3.4, X.3.1 and X.3.2: the mail system is full, or is not accepting messages. */
const SYSTEM_AT_ALL = /^4\.3\.[12]$/;
/** A permanent rejection does not ask this service to slow down, even if the attempt is retried. */
const PERMANENT = 500;
/** RFC 5321 §4.2.3: insufficient system storage. */
const NO_STORAGE = 452;

type Deferred = Extract<AttemptOutcome, { outcome: 'deferred' }>;

const wasSetUp = ({ smtp: { stage } }: Deferred): boolean => stage !== 'connect' && stage !== 'session';

/**
 * In reply to RCPT, "451 local error" usually means an unreadable table or mailbox of this recipient (Postfix, Exim).
 */
const isSystemBusy = ({ smtp: { code, enhanced, stage } }: Deferred): boolean =>
  code < PERMANENT && (stage !== 'recipient' || code === NO_STORAGE || SYSTEM_AT_ALL.test(enhanced ?? ''));

const asksForFewer = (said: Deferred): boolean => {
  const { smtp, category } = said;
  if (smtp.code === CLOSING) return true;
  if (category === 'system') return isSystemBusy(said);
  const isForNow = smtp.code < PERMANENT;
  if (category === undefined || isOfOne(smtp)) return smtp.stage === 'mail' && isForNow;
  return BUSY.has(category) || (smtp.stage === 'mail' && isForNow && !NOT_OF_LOAD.has(category));
};

/**
 * A 5xx greeting, or a permanent rejection of a session command, means that the server accepts no mail from this
 * service.
 */
const feedbackOfSetUp = ({ smtp: { code } }: Deferred): Feedback => (code < PERMANENT ? 'busy' : 'refusing');

const feedbackOfDeferred = (said: Deferred): Feedback | null => {
  if (said.smtp.code > 0 && !wasSetUp(said)) return feedbackOfSetUp(said);
  if (asksForFewer(said)) return 'busy';
  if (said.smtp.code > 0) return 'flowing';
  // Without a category, this service itself ended the attempt.
  return wasSetUp(said) || said.category === undefined ? null : 'unreachable';
};

const feedbackOfOne = (said: AttemptOutcome): Feedback | null => {
  if (said.outcome === 'delivered' || said.outcome === 'bounced') return 'flowing';
  return said.outcome === 'deferred' ? feedbackOfDeferred(said) : null;
};

const asksToSlow = (said: Deferred): boolean => {
  const feedback = feedbackOfDeferred(said);
  return feedback === 'busy' || feedback === 'refusing' || feedback === 'unreachable';
};

/** Replies slower than this do not raise the limit: more attempts would slow down the server further. */
const SLOW_MS = 2_000;

/** @returns null if the outcomes say nothing about the destination, such as a deadline of this service. */
export const feedbackOf = (outcomes: readonly AttemptOutcome[], tookMs: number): Feedback | null => {
  const all = outcomes.map(feedbackOfOne);
  if (all.includes('busy')) return 'busy';
  if (all.includes('refusing')) return 'refusing';
  if (all.includes('flowing')) return tookMs > SLOW_MS ? 'slow' : 'flowing';
  return all.includes('unreachable') ? 'unreachable' : null;
};

/**
 * Whether a request to slow down may concern the sender: it came after MAIL named the sending domain. A reply to a
 * connection, a greeting or a session command can only concern this service or the server itself.
 */
export const mayBlameSender = (outcomes: readonly AttemptOutcome[]): boolean =>
  outcomes.every((said) => said.outcome !== 'deferred' || !asksToSlow(said) || wasSetUp(said));

/**
 * Whether a reply says that too many messages arrived in a period. Other requests to slow down change only the
 * concurrency: a server that is out of order (`system`) or distrusts this service (`reputation`) does not count
 * messages, and does not accept more if they come slowly; greylisting delays every new sender.
 */
export const asksForLowerRate = (outcomes: readonly AttemptOutcome[]): boolean =>
  outcomes.some(
    (said) =>
      (said.outcome === 'deferred' || said.outcome === 'bounced') &&
      said.category === 'rate_limited' &&
      !isOfOne(said.smtp),
  );
