import { evaluateReputation as record } from '../../commands/pacing.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import {
  countedFrom,
  evaluateReputation as decide,
  type ReputationCounts,
  type ReputationLimits,
} from '../../domain/reputation/reputation.ts';
import type { System } from '../../lib/async/async.ts';
import type { Leadership } from '../leadership.ts';
import { repeat, type Work } from '../supervise.ts';
import type { SendingHolds } from './sending-holds.ts';

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

export interface EvaluateReputation {
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
