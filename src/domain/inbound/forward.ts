/**
 * Forwarding of an inbound message. As with sent mail, the log is the claim: an attempt is recorded before anything is
 * sent, so that a job that runs twice sends once. The one exception is an attempt whose outcome is lost: it is repeated
 * when its lease ends, and the recipient may get a second copy with the same Message-ID.
 */
import type { EventsOf } from '../kernel/event.ts';
import type { SmtpFacts } from '../message/events.ts';
import { nextAttemptAt, TTL_SECONDS_DEFAULT } from '../message/retry-schedule.ts';
import type { ForwardDeferral, ForwardFailure, inboundEvents } from './events.ts';

type Event = EventsOf<typeof inboundEvents>;
type ForwardEvent = Exclude<Event, { readonly type: 'InboundReceived' }>;

export interface Forward {
  readonly status: 'pending' | 'sending' | 'deferred' | 'forwarded' | 'failed';
  /** Attempts that were started or put off. */
  readonly attempt: number;
  /** Next attempt, or end of the lease of the running one (ISO 8601); null: it has ended. */
  readonly dueAt: string | null;
  /** Null: nothing went wrong. */
  readonly reason: ForwardFailure | ForwardDeferral | null;
  /** Last reply. */
  readonly smtp: SmtpFacts | null;
}

/** A message with its forwarding, as decisions need it. */
interface Forwarded {
  readonly inboundId: string;
  readonly domainId: string;
  readonly createdAt: string;
  readonly forward?: Forward;
}
type State = { readonly status: 'absent' } | (Forwarded & { readonly status: 'received' });

export const newForward = (dueAt: string): Forward => ({
  status: 'pending',
  attempt: 0,
  dueAt,
  reason: null,
  smtp: null,
});

export const evolveForward = (before: Forward, event: ForwardEvent): Forward => {
  switch (event.type) {
    case 'InboundForwardStarted':
      return { ...before, status: 'sending', attempt: event.data.attempt, dueAt: event.data.leaseUntil };
    case 'InboundForwardDeferred': {
      const { attempt, nextAttemptAt: dueAt, reason, smtp } = event.data;
      return { ...before, status: 'deferred', attempt, dueAt, reason, smtp };
    }
    case 'InboundForwarded':
      return { ...before, status: 'forwarded', dueAt: null, reason: null, smtp: event.data.smtp };
    case 'InboundForwardFailed': {
      const { reason, smtp } = event.data;
      return { ...before, status: 'failed', dueAt: null, reason, smtp };
    }
    default:
      return event satisfies never;
  }
};

/** Facts of a decision: the time (ISO 8601), and a random number in [0, 1) that spreads retries. */
interface Now {
  readonly now: string;
  readonly random: number;
}

const TTL_MS = TTL_SECONDS_DEFAULT * 1000;

/** Result of an attempt. */
export type ForwardOutcome =
  | { readonly outcome: 'forwarded'; readonly smtp: SmtpFacts }
  | { readonly outcome: 'failed'; readonly reason: ForwardFailure; readonly smtp: SmtpFacts | null }
  | { readonly outcome: ForwardDeferral; readonly smtp: SmtpFacts | null };

const failed = (
  { inboundId, domainId }: Forwarded,
  reason: ForwardFailure,
  smtp: SmtpFacts | null,
): readonly ForwardEvent[] => [{ type: 'InboundForwardFailed', data: { inboundId, domainId, reason, smtp } }];

const deferred = (
  state: Forwarded,
  attempt: number,
  { outcome: reason, smtp }: Extract<ForwardOutcome, { readonly outcome: ForwardDeferral }>,
  { now, random }: Now,
): readonly ForwardEvent[] => {
  const { inboundId, createdAt } = state;
  const expiresAt = new Date(Date.parse(createdAt) + TTL_MS).toISOString();
  if (now >= expiresAt) return failed(state, 'expired', smtp);
  const next = nextAttemptAt(attempt, { now, random, expiresAt });
  return [{ type: 'InboundForwardDeferred', data: { inboundId, attempt, reason, nextAttemptAt: next, smtp } }];
};

/** The forwarding if it is due; null: it is not, or has ended. */
export const dueForward = (state: State, now: string): Forward | null => {
  if (state.status === 'absent' || state.forward === undefined) return null;
  const { dueAt } = state.forward;
  return dueAt === null || dueAt > now ? null : state.forward;
};

/** Claims an attempt. If the lease of an earlier one has ended, its outcome is unknown, and another follows later. */
export const startForward = (
  state: State,
  { leaseUntil, ...now }: Now & { readonly leaseUntil: string },
): readonly ForwardEvent[] => {
  const due = dueForward(state, now.now);
  if (due === null || state.status === 'absent') return [];
  if (due.status === 'sending') return deferred(state, due.attempt, { outcome: 'unknown', smtp: due.smtp }, now);
  const { inboundId } = state;
  return [{ type: 'InboundForwardStarted', data: { inboundId, attempt: due.attempt + 1, leaseUntil } }];
};

/** Whether this attempt still holds the claim. */
export const holdsForward = (state: State, attempt: number): boolean =>
  state.status !== 'absent' && state.forward?.status === 'sending' && state.forward.attempt === attempt;

/** Records an attempt, unless another process has recorded it as lost. */
export const recordForward = (
  state: State,
  { attempt, reported, ...now }: Now & { readonly attempt: number; readonly reported: ForwardOutcome },
): readonly ForwardEvent[] => {
  if (!holdsForward(state, attempt) || state.status === 'absent') return [];
  const { inboundId, domainId } = state;
  switch (reported.outcome) {
    case 'forwarded':
      return [{ type: 'InboundForwarded', data: { inboundId, domainId, attempt, smtp: reported.smtp } }];
    case 'failed':
      return failed(state, reported.reason, reported.smtp);
    default:
      return deferred(state, attempt, reported, now);
  }
};

/** Puts an attempt off before it is claimed, and counts it: the waits become longer. */
export const deferForward = (
  state: State,
  { reason, ...now }: Now & { readonly reason: 'deferred' | 'fault' },
): readonly ForwardEvent[] => {
  const due = dueForward(state, now.now);
  if (due === null || due.status === 'sending' || state.status === 'absent') return [];
  return deferred(state, due.attempt + 1, { outcome: reason, smtp: due.smtp }, now);
};

/** Ends the forwarding before an attempt is made. */
export const failForward = (
  state: State,
  { reason, now }: { readonly reason: ForwardFailure; readonly now: string },
): readonly ForwardEvent[] => {
  const due = dueForward(state, now);
  if (due === null || due.status === 'sending' || state.status === 'absent') return [];
  return failed(state, reason, due.smtp);
};

/** Records a delivery report about the forwarded copy. It can come before the outcome of its attempt. */
export const bounceForward = (state: State, smtp: SmtpFacts): readonly ForwardEvent[] => {
  if (state.status === 'absent' || state.forward === undefined) return [];
  const { attempt, status } = state.forward;
  return attempt === 0 || status === 'failed' ? [] : failed(state, 'bounced', smtp);
};

/** Facts that decide whether a message may be forwarded. */
export interface ForwardFacts {
  readonly isAutomatic?: true | undefined;
  readonly isMarked?: true | undefined;
  /** `MAIL FROM` is a return address of this service. */
  readonly isOwnSender: boolean;
  /** This service has forwarded it before. */
  readonly wasForwarded: boolean;
  /** It has bare line ends. */
  readonly isMalformed: boolean;
}

/** Why a message is never forwarded; null: it may be. */
export const forwardRefusal = (facts: ForwardFacts): ForwardFailure | null => {
  if (facts.wasForwarded || facts.isOwnSender) return 'loop';
  if (facts.isAutomatic === true) return 'automatic';
  if (facts.isMarked === true) return 'dmarc_failed';
  return facts.isMalformed ? 'malformed' : null;
};
