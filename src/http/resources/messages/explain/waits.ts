import { atTime } from '../../../../domain/audit/report/words.ts';
import { classifyReply } from '../../../../domain/bounce/classify.ts';
import { isOwnDestination, partsOfDestination, type Suspension } from '../../../../domain/destination/suspension.ts';
import type { HoldReason } from '../../../../domain/message/events.ts';
import { type HoldState, isOpen, type Recipient } from '../../../../domain/message/message.ts';
import { holdsBack, type Reputation } from '../../../../domain/reputation/reputation.ts';
import type { SerializedSmtp } from '../../events/serialize-events.ts';
import {
  deferral,
  type ExplainedWait,
  nextOf,
  type RecordedMessageEvent,
  type View,
  type WaitReason,
  withoutReplyTexts,
} from './explanation.ts';

/** Why recipients wait, and until when. */

const BAD = 'its bounce or complaint rate is too high';

const KEPT_BACK: Readonly<Record<HoldReason, string>> = {
  domain_slowed: `bulk mail of the sending domain is sent one message at a time, because ${BAD}`,
  domain_paused: `bulk mail of the sending domain is paused, because ${BAD}`,
  organization_slowed: `bulk mail of the organization is sent one message at a time, because ${BAD}`,
  organization_paused: `bulk mail of the organization is paused, because ${BAD}`,
  bulk_mail_paused: 'all bulk mail of the organization is paused',
  organization_suspended:
    'the operator of this service suspended the organization, and only the operator can resume it',
  warm_up: 'the sending domain is warming up and has used its daily quota',
};

const afterHold = ({ heldBy, until }: Pick<HoldState, 'heldBy' | 'until'>, expiresAt: string): string => {
  const released = heldBy === null ? '' : 'Delivery continues when that ends. ';
  return until < expiresAt
    ? `${released}The next check is at ${atTime(until)} at the latest.`
    : `${released}If it still waits at ${atTime(expiresAt)}, it expires.`;
};

/** Why recipients are held and until when, in words that follow a colon. */
export const explainHold = (held: Pick<HoldState, 'reason' | 'heldBy' | 'until'>, expiresAt: string): string =>
  `${KEPT_BACK[held.reason]}. ${afterHold(held, expiresAt)}`;

export interface WaitFacts {
  readonly now: string;
  /** Suspensions by recipient domain. */
  readonly suspensions: ReadonlyMap<string, Suspension>;
  /** Reputations that hold recipients, by domain or organization id. Absent: good. */
  readonly reputations: ReadonlyMap<string, Reputation>;
  /** The organization must not send. */
  readonly isOrganizationSuspended: boolean;
}

type Why = Omit<ExplainedWait, 'recipient'>;
type DeferralData = Extract<RecordedMessageEvent, { readonly type: 'RecipientDeferred' }>['data'];

/** Due mail normally starts within a second or two. Shorter: false alarms. */
const UNUSUAL_MS = 60_000;

const SUSPENDED: Readonly<Record<Exclude<Suspension['reason'], 'recipient_domain'>, string>> = {
  busy: 'asked for less mail',
  unreachable: 'could not be reached',
  refused: 'refuse connections from this service',
};

const why = (reason: WaitReason, sentence: string, next: string | null): Why => ({
  reason,
  sentence,
  next_attempt_at: next,
});

const concerns = ({ data }: RecordedMessageEvent, id: string): boolean => {
  if ('recipientId' in data) return data.recipientId === id;
  return 'recipientIds' in data && data.recipientIds.includes(id);
};

const inHandOf = (who: string, view: View, { attempt, until }: NonNullable<Recipient['lease']>, now: string): Why => {
  const begun = view.happenings.findLast(({ type, data }) => type === 'AttemptStarted' && data.attempt === attempt);
  const since = begun === undefined ? '' : `, since ${atTime(begun.metadata.occurredAt)}`;
  if (until > now) {
    const sentence = `Being sent to ${who} now${since}. If there is no result by ${atTime(until)}, it is retried.`;
    return why('in_hand', sentence, until);
  }
  const sentence = `Attempt ${attempt} for ${who} has had no result${since}. A copy may have arrived. It is checked again within moments.`;
  return why('attempt_lost', sentence, null);
};

/** An event without a category is classified by its reply, while that is kept. */
const isGreylisting = ({ category }: DeferralData, { code, enhanced, mx, text }: SerializedSmtp): boolean =>
  (category ?? classifyReply({ code, enhanced, mx, text: text ?? '' })) === 'greylisted';

/** Why it waits for another attempt. */
const retryOf = (who: string, recipient: Recipient, view: View, next: string): Why => {
  const last = view.happenings.findLast(
    (each) =>
      (each.type === 'AttemptOutcomeUnknown' || each.type === 'RecipientDeferred') && concerns(each, recipient.id),
  );
  const then = nextOf(next, view.message.expiresAt);
  if (last?.type !== 'RecipientDeferred') {
    return why('outcome_unknown', `An earlier attempt may or may not have reached ${who}. ${then}`, next);
  }
  const smtp = view.smtpOf(last.data.smtp);
  const greylisted = smtp.code !== 0 && isGreylisting(last.data, smtp);
  const reason = smtp.code === 0 ? 'not_handed_over' : greylisted ? 'greylisted' : 'told_to_wait';
  const sentence = deferral(last.data, withoutReplyTexts(view), greylisted ? 'greylisted' : last.data.category);
  return why(reason, `${sentence} ${then}`, next);
};

/** Why a destination is suspended. */
const inTheWayOf = ({ operator, domain, reason, since, mx }: Suspension): string => {
  const time = atTime(since);
  if (reason === 'recipient_domain') {
    const about = mx === null ? '' : `, about ${mx},`;
    return `The DNS records or policies of ${domain}${about} name no usable mail server. Deliveries have been suspended since ${time}`;
  }
  const { domainId, destination } = partsOfDestination(operator);
  const whose = isOwnDestination(destination) ? domain : destination;
  const ofWhom = domainId === null ? '' : ' from this sending domain';
  return `The mail servers of ${whose} ${SUSPENDED[reason]}${ofWhom}. Deliveries have been suspended since ${time}`;
};

const suspendedOf = (who: string, suspension: Suspension): Why => {
  const { until } = suspension;
  const what = inTheWayOf(suspension);
  return why('destination_suspended', `${what}. Next attempt for ${who} at ${atTime(until)}.`, until);
};

const dueOf = (who: string, due: string, now: string): Why => {
  const ageMs = Date.parse(now) - Date.parse(due);
  const slow =
    ageMs > UNUSUAL_MS
      ? ', which is unusually long: the destination limits the rate, all workers are busy, or no worker is running'
      : '';
  return why('due_now', `Waiting to be sent to ${who} since ${atTime(due)}${slow}.`, null);
};

/** Whether the hold is still in force: it may have ended since it was recorded. */
const isStillHeld = (
  { reason, heldBy, until }: HoldState,
  { reputations, isOrganizationSuspended, now }: WaitFacts,
): boolean => {
  if (reason === 'organization_suspended') return isOrganizationSuspended;
  const holder = heldBy === null ? undefined : reputations.get(heldBy);
  return reason === 'warm_up' || heldBy === null ? until > now : holder !== undefined && holdsBack(holder);
};

/** The hold or suspension in force; undefined: none. */
const keptBackOf = (who: string, recipient: Recipient, view: View, waiting: WaitFacts): Why | undefined => {
  const { domain, held, nextAttemptAt } = recipient;
  if (held !== null && isStillHeld(held, waiting)) {
    const opening = `Held for ${who} since ${atTime(held.since)}`;
    return why('held', `${opening}: ${explainHold(held, view.message.expiresAt)}`, held.until);
  }
  const suspension = waiting.suspensions.get(domain);
  const tried = nextAttemptAt !== null && nextAttemptAt > waiting.now ? nextAttemptAt : waiting.now;
  return suspension !== undefined && suspension.until > tried ? suspendedOf(who, suspension) : undefined;
};

/** Why a recipient without an attempt in flight waits. */
const waitingOf = (recipient: Recipient, view: View, waiting: WaitFacts): Why => {
  const { now } = waiting;
  const who = view.nameOf([recipient.id]);
  const due = recipient.nextAttemptAt ?? view.message.acceptedAt;
  if (recipient.status === 'scheduled' && due > now) {
    return why('scheduled', `Scheduled for ${who} at ${atTime(due)}.`, due);
  }
  const otherwise = (): Why => (due > now ? retryOf(who, recipient, view, due) : dueOf(who, due, now));
  return keptBackOf(who, recipient, view, waiting) ?? otherwise();
};

const whyOf = (recipient: Recipient, view: View, waiting: WaitFacts): Why =>
  recipient.lease === null
    ? waitingOf(recipient, view, waiting)
    : inHandOf(view.nameOf([recipient.id]), view, recipient.lease, waiting.now);

/** Why each undelivered recipient waits, in the order of the recipients. */
export const explainWaits = (view: View, waiting: WaitFacts): readonly ExplainedWait[] =>
  view.message.recipients
    .filter(({ status }) => isOpen(status))
    .map((recipient) => ({ recipient: view.recipientOf(recipient.id), ...whyOf(recipient, view, waiting) }));
