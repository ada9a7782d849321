import { classifyReply } from '../../../domain/bounce/classify.ts';
import { isOwnDestination, type Suspension } from '../../../domain/destination/destination.ts';
import type { HoldReason } from '../../../domain/message/events.ts';
import { type Held, isOpen, type Recipient } from '../../../domain/message/recipient.ts';
import { holdsBack, type Reputation } from '../../../domain/reputation/reputation.ts';
import type { SerializedSmtp } from '../../../projections/events/serialize-events.ts';
import { nextOf, saidOf, speakerOf } from './explain-reply.ts';
import { atTime, type ExplainedWait, type Happening, type View, type WaitReason } from './explanation.ts';

/** Why recipients wait, and until when. */

const BAD = 'too much of it bounced or was complained about';

const KEPT_BACK: Readonly<Record<HoldReason, string>> = {
  domain_slowed: `bulk mail of its sending domain leaves message by message, because ${BAD}`,
  domain_paused: `bulk mail of its sending domain is paused, because ${BAD}`,
  organization_slowed: `bulk mail of its organization leaves message by message, because ${BAD}`,
  organization_paused: `bulk mail of its organization is paused, because ${BAD}`,
  warm_up: 'its sending domain is new to those who receive its mail, and has sent as much as it may for now',
};

const afterHold = ({ heldBy, until }: Pick<Held, 'heldBy' | 'until'>, expiresAt: string): string => {
  const released = heldBy === null ? '' : 'It goes on when that ends. ';
  return until < expiresAt
    ? `${released}At ${atTime(until)} it is looked at again in any case.`
    : `${released}Its time to live ends at ${atTime(expiresAt)}: if it still waits then, it expires.`;
};

/** Why recipients are kept back, and until when, in words that follow a colon. */
export const explainHold = (held: Pick<Held, 'reason' | 'heldBy' | 'until'>, expiresAt: string): string =>
  `${KEPT_BACK[held.reason]}. ${afterHold(held, expiresAt)}`;

export interface Waiting {
  readonly now: string;
  /** Of recipients' domains whose servers get nothing now. */
  readonly suspensions: ReadonlyMap<string, Suspension>;
  /** By the ids of those whose standing keeps recipients back; who is missing stands well. */
  readonly standings: ReadonlyMap<string, Reputation>;
}

type Why = Omit<ExplainedWait, 'recipient'>;
type Deferred = Extract<Happening, { readonly type: 'RecipientDeferred' }>['data'];

/** A worker takes what is due within a second or two; longer is worth a word, shorter would alarm for nothing. */
const UNUSUAL_MS = 60_000;

const SUSPENDED: Readonly<Record<Exclude<Suspension['reason'], 'recipient_domain'>, string>> = {
  busy: 'asked for less mail for now',
  unreachable: 'could not be reached',
  refused: 'take no sessions with this service',
};

const why = (reason: WaitReason, sentence: string, next: string | null): Why => ({
  reason,
  sentence,
  next_attempt_at: next,
});

const concerns = ({ data }: Happening, id: string): boolean => {
  if ('recipientId' in data) return data.recipientId === id;
  return 'recipientIds' in data && data.recipientIds.includes(id);
};

const inHandOf = (who: string, view: View, { attempt, until }: NonNullable<Recipient['lease']>, now: string): Why => {
  const begun = view.happenings.findLast(({ type, data }) => type === 'AttemptStarted' && data.attempt === attempt);
  const since = begun === undefined ? '' : `, since ${atTime(begun.metadata.occurredAt)}`;
  if (until > now) {
    const sentence = `It is being handed over for ${who} at this moment${since}; if nothing is heard by ${atTime(until)}, it is looked at again.`;
    return why('in_hand', sentence, until);
  }
  const sentence = `Attempt ${attempt} for ${who} was begun${since} and not heard of by ${atTime(until)}: a copy may have arrived, and it is looked at again within moments.`;
  return why('attempt_lost', sentence, null);
};

/** Events from before replies were classified are judged by what was said, while that is kept. */
const isGreylisting = ({ category }: Deferred, { code, enhanced, mx, text }: SerializedSmtp): boolean =>
  (category ?? classifyReply({ code, enhanced, mx, text: text ?? '' })) === 'greylisted';

/** It has been tried; its next time stands. */
const retryOf = (who: string, recipient: Recipient, view: View, next: string): Why => {
  const last = view.happenings.findLast(
    (each) =>
      (each.type === 'AttemptOutcomeUnknown' || each.type === 'RecipientDeferred') && concerns(each, recipient.id),
  );
  const then = nextOf(next, view.message.expiresAt);
  if (last?.type !== 'RecipientDeferred') {
    return why('outcome_unknown', `Nobody knows whether an earlier attempt reached ${who}. ${then}`, next);
  }
  const smtp = view.smtpOf(last.data.smtp);
  const said = saidOf(smtp);
  if (smtp.code === 0) {
    const more = said === '' ? '' : ` (${said})`;
    return why('not_handed_over', `It could not be handed over for ${who}: ${last.data.reason}${more}. ${then}`, next);
  }
  const speaker = speakerOf(view, smtp);
  if (isGreylisting(last.data, smtp)) {
    const sentence = `${speaker} lets senders that it does not know wait for a while (greylisting): ${said}, for ${who}. ${then}`;
    return why('greylisted', sentence, next);
  }
  return why('told_to_wait', `${speaker} did not take it for ${who}, and may later: ${said}. ${then}`, next);
};

/** What was in the way, and what was not tried for it. */
const inTheWayOf = ({ operator, domain, reason, since, mx }: Suspension): string => {
  const time = atTime(since);
  if (reason === 'recipient_domain') {
    const about = mx === null ? '' : `, about ${mx},`;
    return `What ${domain} itself says${about} in its DNS or its policies leaves no server that may have its mail, and since ${time} none is tried`;
  }
  const whose = isOwnDestination(operator) ? domain : operator;
  return `The mail servers of ${whose} ${SUSPENDED[reason]} and get nothing since ${time}`;
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
      ? ', which is unusually long: the other side takes few in a time, all workers are busy, or none is running'
      : '';
  return why('due_now', `${who} is next: it waits for its turn since ${atTime(due)}${slow}.`, null);
};

/** What kept it back may have ended, and nobody has looked at it since. */
const isStillHeld = ({ reason, heldBy, until }: Held, { standings, now }: Waiting): boolean => {
  const holder = heldBy === null ? undefined : standings.get(heldBy);
  return reason === 'warm_up' || heldBy === null ? until > now : holder !== undefined && holdsBack(holder);
};

/** What keeps it back, whatever has come of it before; undefined: nothing does. */
const keptBackOf = (who: string, recipient: Recipient, view: View, waiting: Waiting): Why | undefined => {
  const { domain, held, nextAttemptAt } = recipient;
  if (held !== null && isStillHeld(held, waiting)) {
    const opening = `It is kept back for ${who} since ${atTime(held.since)}`;
    return why('held', `${opening}: ${explainHold(held, view.message.expiresAt)}`, held.until);
  }
  const suspension = waiting.suspensions.get(domain);
  const tried = nextAttemptAt !== null && nextAttemptAt > waiting.now ? nextAttemptAt : waiting.now;
  return suspension !== undefined && suspension.until > tried ? suspendedOf(who, suspension) : undefined;
};

/** It is free to be taken: when it is, and by whom not. */
const waitingOf = (recipient: Recipient, view: View, waiting: Waiting): Why => {
  const { now } = waiting;
  const who = view.nameOf([recipient.id]);
  const due = recipient.nextAttemptAt ?? view.message.acceptedAt;
  if (recipient.status === 'scheduled' && due > now) {
    return why('scheduled', `Its sender asked for it to be sent to ${who} at ${atTime(due)}.`, due);
  }
  const otherwise = (): Why => (due > now ? retryOf(who, recipient, view, due) : dueOf(who, due, now));
  return keptBackOf(who, recipient, view, waiting) ?? otherwise();
};

const whyOf = (recipient: Recipient, view: View, waiting: Waiting): Why =>
  recipient.lease === null
    ? waitingOf(recipient, view, waiting)
    : inHandOf(view.nameOf([recipient.id]), view, recipient.lease, waiting.now);

/** Why each recipient that does not have it yet does not, in the order of the recipients. */
export const explainWaits = (view: View, waiting: Waiting): readonly ExplainedWait[] =>
  view.message.recipients
    .filter(({ status }) => isOpen(status))
    .map((recipient) => ({ recipient: view.recipientOf(recipient.id), ...whyOf(recipient, view, waiting) }));
