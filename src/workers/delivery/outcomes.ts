import type { BounceCategory } from '../../domain/bounce/categories.ts';
import { askedWaitSeconds, classifyReply } from '../../domain/bounce/classify.ts';
import { isOwnDestination } from '../../domain/destination/destination.ts';
import type { SmtpFacts } from '../../domain/message/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import { type AttemptOutcome, REFUSED } from '../../domain/message/record-attempt.ts';
import type { MessageContents } from '../../domain/ports/contents.ts';
import type { RecipientOutcome } from '../../domain/ports/mail-transport.ts';

/** What a transport said, as the log wants it, and the texts of the replies, which the log does not want. */
export interface Reported {
  readonly outcomes: readonly AttemptOutcome[];
  readonly replies: readonly MessageContents[];
}

type Said = Exclude<RecipientOutcome, { outcome: 'unknown' | 'suppressed' }>;

const LATER = 'the other side may accept it later';
/** Nobody was asked: there is no such domain, it takes no mail, or none of its servers takes such addresses. */
const UNDELIVERABLE = 'it cannot be delivered there';
const NOT_REACHED = 'no answer from the other side';
/** What its DNS or its policy says leaves no server that may be asked. */
const NOT_TRIED = 'no server was tried';
const STOPPING = 'the service was stopping';

/** No reply was received: nothing of the other side's is to be quoted. */
const wasReached = ({ code }: Said): boolean => code > 0;

const bounceReason = (said: Said): string => (wasReached(said) ? REFUSED : UNDELIVERABLE);

/** A recipient domain is told of by itself where its own DNS or policy is in the way (`mail-transport.ts`). */
const wasTried = ({ destination, address }: Said): boolean =>
  typeof address === 'string' || !isOwnDestination(destination ?? '');

const deferralReason = (said: Said, stopping: boolean): string => {
  if (wasReached(said)) return LATER;
  if (stopping) return STOPPING;
  return wasTried(said) ? NOT_REACHED : NOT_TRIED;
};

/** undefined: what our own stopping cut off says nothing of the other side. */
const categoryOf = (said: Said, stopping: boolean): BounceCategory | undefined => {
  if (wasReached(said)) return classifyReply(said);
  if (stopping) return undefined;
  const category = classifyReply(said);
  return category === 'unknown' ? 'network' : category;
};

const factsOf = (said: Said, replyId: string): SmtpFacts => {
  const { code, enhanced, mx, tls, cipher, policy, address, stage } = said;
  return {
    ...{ code, enhanced, mx, tls },
    ...(cipher === undefined ? {} : { cipher }),
    ...(policy === undefined ? {} : { policy }),
    ...(address === undefined ? {} : { address }),
    ...(stage === undefined ? {} : { stage }),
    replyId,
  };
};

const outcomeOf = (said: Said, smtp: SmtpFacts, stopping: boolean): AttemptOutcome => {
  const { recipientId, outcome } = said;
  if (outcome === 'delivered') return { recipientId, outcome, smtp, complained: said.complained === true };
  // Also where it was not asked: it does not offer what the address needs.
  const category = categoryOf(said, stopping);
  const judged = { recipientId, smtp, ...(category === undefined ? {} : { category }) };
  if (outcome === 'bounced') return { ...judged, outcome, reason: bounceReason(said) };
  // What our own stopping cut off is not the other side's fault, and does not have to wait.
  const wait = stopping && !wasReached(said) ? 0 : said.retryAfterSeconds;
  const asked = wasReached(said) ? askedWaitSeconds(said.text) : undefined;
  return {
    ...{ ...judged, outcome, reason: deferralReason(said, stopping) },
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
    ...(asked === undefined ? {} : { askedSeconds: asked }),
  };
};

/** @param stopping the attempt was cut off by this process ending. */
export const reportOf = (
  { organizationId, accepted: { messageId } }: ExistingMessage,
  said: readonly RecipientOutcome[],
  { uuid, stopping }: { readonly uuid: () => string; readonly stopping: boolean },
): Reported => {
  const replies: MessageContents[] = [];
  const outcomes = said.map((each): AttemptOutcome => {
    const { recipientId, outcome } = each;
    if (outcome === 'unknown') return { recipientId, outcome };
    if (outcome === 'suppressed') return { recipientId, outcome, reason: each.text };
    const { destination } = each;
    const id = uuid();
    replies.push({ id, organizationId, body: { kind: 'reply', messageId, text: each.text } });
    const told = outcomeOf(each, factsOf(each, id), stopping);
    return destination === undefined ? told : { ...told, destination };
  });
  return { outcomes, replies };
};

/** Our own fault, the same for everybody: nothing was sent, and it is tried again. */
export const postponed = (recipientIds: readonly string[], reason: string): Reported => ({
  replies: [],
  outcomes: recipientIds.map((recipientId) => ({
    ...{ recipientId, outcome: 'deferred', reason },
    smtp: { code: 0, enhanced: null, mx: null, tls: null, replyId: null },
  })),
});
