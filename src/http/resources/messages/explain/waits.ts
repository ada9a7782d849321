import { classifyReply } from '../../../../domain/bounce/classify.ts';
import { isOwnDestination, partsOfDestination, type Suspension } from '../../../../domain/destination/suspension.ts';
import type { HoldReason } from '../../../../domain/message/events.ts';
import { type Held, isOpen, type Recipient } from '../../../../domain/message/message.ts';
import { holdsBack, type Reputation } from '../../../../domain/reputation/reputation.ts';
import type { SerializedSmtp } from '../../../../projections/events/serialize-events.ts';
import {
  atTime,
  type ExplainedWait,
  nextOf,
  type RecordedMessageEvent,
  saidOf,
  speakerOf,
  type View,
  type WaitReason,
} from './explanation.ts';

/** Why recipients wait, and until when. */

const BAD = 'its bounce or complaint rate is too high';

const KEPT_BACK: Readonly<Record<HoldReason, string>> = {
  domain_slowed: `bulk mail of its sending domain is sent one message at a time, because ${BAD}`,
  domain_paused: `bulk mail of its sending domain is paused, because ${BAD}`,
  organization_slowed: `bulk mail of its organization is sent one message at a time, because ${BAD}`,
  organization_paused: `bulk mail of its organization is paused, because ${BAD}`,
  bulk_mail_paused: 'all bulk mail of its organization was paused by somebody who may',
  organization_suspended: 'the operator of this service has suspended its organization, and only they can resume it',
  warm_up: 'its sending domain is warming up and has used its daily quota',
};

const afterHold = ({ heldBy, until }: Pick<Held, 'heldBy' | 'until'>, expiresAt: string): string => {
  const released = heldBy === null ? '' : 'It continues when that ends. ';
  return until < expiresAt
    ? `${released}It is checked again at ${atTime(until)} at the latest.`
    : `${released}It expires if it still waits at ${atTime(expiresAt)}.`;
};

/** Why recipients are held and until when, in words that follow a colon. */
export const explainHold = (held: Pick<Held, 'reason' | 'heldBy' | 'until'>, expiresAt: string): string =>
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
  busy: 'asked for less mail for now',
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
    const sentence = `It is being sent to ${who} now${since}; without an outcome by ${atTime(until)} it is checked again.`;
    return why('in_hand', sentence, until);
  }
  const sentence = `Attempt ${attempt} for ${who} began${since}; its outcome was not recorded by ${atTime(until)}. A copy may have arrived; it is checked again within moments.`;
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
    return why('outcome_unknown', `It is unknown whether an earlier attempt reached ${who}. ${then}`, next);
  }
  const smtp = view.smtpOf(last.data.smtp);
  const said = saidOf(smtp);
  if (smtp.code === 0) {
    const more = said === '' ? '' : ` (${said})`;
    return why('not_handed_over', `It could not be sent to ${who}: ${last.data.reason}${more}. ${then}`, next);
  }
  const speaker = speakerOf(view, smtp);
  if (isGreylisting(last.data, smtp)) {
    const sentence = `${speaker} makes unknown senders wait (greylisting): ${said}, for ${who}. ${then}`;
    return why('greylisted', sentence, next);
  }
  return why('told_to_wait', `${speaker} temporarily refused it for ${who}: ${said}. ${then}`, next);
};

/** Why a destination is suspended. */
const inTheWayOf = ({ operator, domain, reason, since, mx }: Suspension): string => {
  const time = atTime(since);
  if (reason === 'recipient_domain') {
    const about = mx === null ? '' : `, about ${mx},`;
    return `The DNS records or policies of ${domain}${about} leave no server for its mail, and deliveries are suspended since ${time}`;
  }
  const { domainId, destination } = partsOfDestination(operator);
  const whose = isOwnDestination(destination) ? domain : destination;
  const ofWhom = domainId === null ? '' : ' from this sending domain';
  return `The mail servers of ${whose} ${SUSPENDED[reason]}${ofWhom}, and deliveries are suspended since ${time}`;
};

const suspendedOf = (who: string, suspension: Suspension): Why => {
  const { until } = suspension;
  const what = inTheWayOf(suspension);
  return why('destination_suspended', `${what}: ${who} is tried when that ends, at ${atTime(until)}.`, until);
};

const dueOf = (who: string, due: string, now: string): Why => {
  const ageMs = Date.parse(now) - Date.parse(due);
  const slow =
    ageMs > UNUSUAL_MS
      ? ', which is unusually long: its destination limits the rate, all workers are busy, or none is running'
      : '';
  return why('due_now', `${who} is due since ${atTime(due)}${slow}.`, null);
};

/** Whether the hold is still in force: it may have ended since it was recorded. */
const isStillHeld = (
  { reason, heldBy, until }: Held,
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
    const opening = `It is held for ${who} since ${atTime(held.since)}`;
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
    return why('scheduled', `It is scheduled for ${who} at ${atTime(due)}.`, due);
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
