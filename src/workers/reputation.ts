import { evaluateReputation as record } from '../commands/reputation.ts';
import type { EventStore, RecordedEvent } from '../domain/kernel/event-store.ts';
import type { Hold } from '../domain/message/attempt.ts';
import type { HoldReason } from '../domain/message/events.ts';
import type { ExistingMessage } from '../domain/message/message.ts';
import {
  countedFrom,
  evaluateReputation as decide,
  GOOD_REPUTATION,
  type Reputation,
  type ReputationCounts,
  type ReputationEvent,
  type ReputationLimits,
  reputation,
  senderIdIn,
} from '../domain/reputation/reputation.ts';
import { jitter, random, type System } from '../lib/async/async.ts';
import { type Leadership, repeat, type Work } from './supervise.ts';

type SentMail = Pick<ExistingMessage, 'accepted' | 'environment' | 'organizationId' | 'recipients'>;

/** In-memory projection of sender reputation: which bulk mail has to wait for its domain or organization. */
export interface SendingHolds {
  /** Applies an event of a sender. */
  apply(event: RecordedEvent): void;
  /** @param senderId of a domain or an organization. */
  reputationOf(senderId: string): Reputation;
  /** null: it may leave, as transactional mail and mail of the test environment always may. */
  of(message: SentMail): Hold | null;
}

/** A process lets one message of a slowed sender pass in this time: less does more harm, more makes a list take days. */
const PASS_EVERY_MS = 1_000;
/**
 * Held mail is found when it is released; otherwise it is tried again after this (it may be suppressed, or its domain
 * deleted). Longer leaves such mail lying, shorter costs an event for each message more often.
 */
const WAIT_SECONDS = 86_400;

const REASONS = {
  slowed: { domain: 'domain_slowed', organization: 'organization_slowed' },
  paused: { domain: 'domain_paused', organization: 'organization_paused' },
} as const;

interface SenderState {
  readonly state: Reputation;
  /** When the next message of a slowed sender may pass. */
  passMs: number;
}

interface Holder {
  readonly id: string;
  readonly what: 'domain' | 'organization';
}

export const createSendingHolds = (system: System): SendingHolds => {
  /** Senders that were ever warned or paused: few. */
  const senders = new Map<string, SenderState>();

  /** Mail that waits already goes first. It must be the turn of all senders that slow it. */
  const mayPass = (slowing: readonly SenderState[], { recipients }: SentMail): boolean => {
    const nowMs = system.now().getTime();
    if (slowing.some(({ passMs }) => nowMs < passMs) || recipients.every(({ held }) => held === null)) return false;
    for (const known of slowing) known.passMs = nowMs + PASS_EVERY_MS;
    return true;
  };

  const holdBy = (id: string, reason: HoldReason): Hold => ({
    reason,
    heldBy: id,
    waitSeconds: jitter(WAIT_SECONDS, random(system)),
  });

  const hold = (level: keyof typeof REASONS, { id, what }: Holder): Hold => holdBy(id, REASONS[level][what]);

  const isPausedBySomebody = ({ organizationId }: SentMail): boolean =>
    senders.get(organizationId)?.state.pausedSince != null;

  const holdOf = (message: SentMail): Hold | null => {
    if (isPausedBySomebody(message)) return holdBy(message.organizationId, 'bulk_mail_paused');
    const both: readonly Holder[] = [
      { id: message.accepted.domainId, what: 'domain' },
      { id: message.organizationId, what: 'organization' },
    ];
    const at = (level: keyof typeof REASONS) => both.filter(({ id }) => senders.get(id)?.state.level === level);
    const [paused] = at('paused');
    if (paused !== undefined) return hold('paused', paused);
    const slowing = at('slowed');
    const [first] = slowing;
    const known = slowing.flatMap(({ id }) => senders.get(id) ?? []);
    return first === undefined || mayPass(known, message) ? null : hold('slowed', first);
  };

  return {
    apply: (event) => {
      const said = event as RecordedEvent<ReputationEvent>; // of the family that it is given
      const senderId = senderIdIn(said);
      const before = senders.get(senderId)?.state ?? reputation.initial;
      senders.set(senderId, { state: reputation.evolve(before, said, said.metadata), passMs: 0 });
    },
    reputationOf: (senderId) => senders.get(senderId)?.state ?? GOOD_REPUTATION,
    of: (message) => (message.accepted.stream === 'bulk' && message.environment === 'live' ? holdOf(message) : null),
  };
};

interface SenderCounts extends ReputationCounts {
  /** A domain, or the organization itself. */
  readonly senderId: string;
  readonly organizationId: string;
}

/** Outcomes of bulk mail since a day (`YYYY-MM-DD`) by domain and organization, a page in the order of their ids. */
export type PageOfCounts = (query: {
  readonly from: string;
  readonly after: string;
  readonly limit: number;
}) => Promise<readonly SenderCounts[]>;

interface EvaluateReputation {
  readonly store: EventStore;
  readonly counts: PageOfCounts;
  readonly limits: ReputationLimits;
  /** Saves reading the stream of a sender whose reputation does not change. */
  readonly sendingHolds: Pick<SendingHolds, 'reputationOf'>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** How long a bad list goes on unnoticed; each look costs one query. */
const EVERY_MS = 5_000;
/** Between the pages of one round. */
const EVERY_MS_BUSY = 100;
/** Senders of a page, with a week's rows each: more block the thread, fewer make rounds long. */
const SENDERS_MAX = 500;

/** Warns, slows, pauses and resumes the bulk mail of domains and organizations by their bounces and complaints. */
export const evaluateReputation = ({
  store,
  counts,
  limits,
  sendingHolds,
  leadership,
  system,
}: EvaluateReputation): Work => {
  let after = '';

  const evaluate = async ({ senderId, organizationId, ...counted }: SenderCounts): Promise<void> => {
    const domainId = senderId === organizationId ? null : senderId;
    const judged = { domainId, organizationId, counts: counted, limits };
    if (decide(sendingHolds.reputationOf(senderId), judged).length === 0) return;
    await record({ store, system }, judged);
  };

  return repeat(system, async () => {
    if (!leadership.isLeader()) return EVERY_MS;
    const page = await counts({ from: countedFrom(system.now()), after, limit: SENDERS_MAX });
    for (const each of page) await evaluate(each);
    const further = page[SENDERS_MAX - 1];
    after = further?.senderId ?? '';
    return further === undefined ? EVERY_MS : EVERY_MS_BUSY;
  });
};
