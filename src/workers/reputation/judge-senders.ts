import { judgeSending as record } from '../../commands/reputation.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import {
  countedFrom,
  judgeSending,
  type SendingCounts,
  type SendingLimits,
} from '../../domain/reputation/evaluate-reputation.ts';
import type { Duty } from '../duty.ts';
import { repeat, type Work } from '../supervise.ts';
import type { SendingHolds } from './sending-holds.ts';

interface SenderCounts extends SendingCounts {
  /** A domain, or the organization itself. */
  readonly senderId: string;
  readonly organizationId: string;
}

/** What became of bulk mail since a day (`YYYY-MM-DD`), by domain and organization in the order of their ids, of those after one. */
export type PageOfCounts = (query: {
  readonly from: string;
  readonly after: string;
  readonly limit: number;
}) => Promise<readonly SenderCounts[]>;

export interface JudgeSenders {
  readonly store: EventStore;
  readonly counts: PageOfCounts;
  readonly limits: SendingLimits;
  /** How they stand, so that nothing is read of those whose standing does not change. */
  readonly sendingHolds: Pick<SendingHolds, 'standingOf'>;
  readonly duty: Pick<Duty, 'isOn'>;
  readonly system: System;
}

/** How long a bad list goes on before it is noticed; each look costs one query. */
const EVERY_MS = 5_000;
/** Between pages of one round. */
const EVERY_MS_BUSY = 100;
/** Of a week's rows each: more hold the thread up, fewer make rounds of many senders long. */
const SENDERS_MAX = 500;

/** Warns, slows down and pauses the bulk mail of domains and organizations, and lets it go on, by what becomes of it. */
export const judgeSenders = ({ store, counts, limits, sendingHolds, duty, system }: JudgeSenders): Work => {
  let after = '';

  const judge = async ({ senderId, organizationId, ...counted }: SenderCounts): Promise<void> => {
    const domainId = senderId === organizationId ? null : senderId;
    const judged = { domainId, organizationId, counts: counted, limits };
    if (judgeSending(sendingHolds.standingOf(senderId), judged).length === 0) return;
    await record({ store, system }, judged);
  };

  return repeat(system, async () => {
    if (!duty.isOn()) return EVERY_MS;
    const page = await counts({ from: countedFrom(system.now()), after, limit: SENDERS_MAX });
    for (const each of page) await judge(each);
    const further = page[SENDERS_MAX - 1];
    after = further?.senderId ?? '';
    return further === undefined ? EVERY_MS : EVERY_MS_BUSY;
  });
};
