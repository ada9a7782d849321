import type { Aggregate } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import type { DomainRecordsEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { DkimPair } from './dkim.ts';
import type { RecordKind, RecordSeen, RecordState } from './events.ts';
import { type ExistingSendingDomain, lifeOf } from './sending-domain.ts';

/** DNS state of a domain's mail records. */
export interface DomainRecords {
  readonly spf: RecordState;
  /** State of the RSA key that signs, or will sign. */
  readonly dkim: RecordState;
  readonly dmarc: RecordState;
  /** State of each record. */
  readonly records: readonly RecordSeen[];
  /** Time of the check that first found this state, or of the last requested check; null if none was made. */
  readonly checkedAt: string | null;
}

/** State before the first check. */
export const RECORDS_UNKNOWN: DomainRecords = {
  spf: 'unknown',
  dkim: 'unknown',
  dmarc: 'unknown',
  records: [],
  checkedAt: null,
};

export const domainRecords: Aggregate<DomainRecords, DomainRecordsEvent> = {
  category: CATEGORIES.domainRecords,
  initial: RECORDS_UNKNOWN,
  evolve: (_state, event, { occurredAt }) => {
    switch (event.type) {
      case 'DomainRecordsChecked': {
        const { domainId: _, ...seen } = event.data;
        return { ...seen, checkedAt: occurredAt };
      }
      default:
        return event.type satisfies never;
    }
  },
};

export interface CheckRecords {
  readonly domainId: string;
  readonly records: readonly RecordSeen[];
  /** Host of the key record that determines the state; null if there is none. */
  readonly dkimHost: string | null;
  /** True if the check was requested. It is then recorded even if nothing has changed. */
  readonly isAsked: boolean;
  readonly now: string;
}

/** A repeated request within this time gets the same response without an event. Lower: polling fills the log. */
const NOTED_AGAIN_MS = 60_000;

const same = (a: readonly RecordSeen[], b: readonly RecordSeen[]): boolean => JSON.stringify(a) === JSON.stringify(b);

const isOld = (checkedAt: string | null, now: string): boolean =>
  checkedAt === null || Date.parse(now) - Date.parse(checkedAt) >= NOTED_AGAIN_MS;

/** Sorts the values, because name servers rotate the order of their answers. */
const inOrder = (records: readonly RecordSeen[]): RecordSeen[] =>
  records.map((record) => ({ ...record, seen: record.seen.toSorted() }));

/** Records a check if its result differs from the previous one. */
export const checkRecords = (
  state: DomainRecords,
  { domainId, records, dkimHost, isAsked, now }: CheckRecords,
): readonly DomainRecordsEvent[] => {
  const seen = inOrder(records);
  if (same(state.records, seen) && !(isAsked && isOld(state.checkedAt, now))) return [];
  const stateOf = (isIt: (record: RecordSeen) => boolean): RecordState => seen.find(isIt)?.state ?? 'unknown';
  const ofKind = (kind: RecordKind): RecordState => stateOf((record) => record.kind === kind);
  const dkim = stateOf(({ host }) => host === dkimHost);
  return [
    {
      type: 'DomainRecordsChecked',
      data: { domainId, spf: ofKind('spf'), dkim, dmarc: ofKind('dmarc'), records: seen },
    },
  ];
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Times of the first checks while records are awaited: a record that is published at once is found within minutes. */
const EAGER_MS: readonly number[] = [1, 3, 8, 23].map((minutes) => minutes * MINUTE_MS);
/** Interval of later checks. Higher: people wait longer. Lower: needless queries. */
const WAITING_EVERY_MS = HOUR_MS;
/** Records that are not published by then are no longer awaited. */
const WAITING_MAX_MS = 14 * DAY_MS;
/** Higher: a lost record is noticed later. Lower: queries servers that have nothing new. */
const VERIFIED_EVERY_MS = 6 * HOUR_MS;
/** The owner is probably fixing the records. Higher: the domain stays degraded although it is fixed. */
const DEGRADED_EVERY_MS = 15 * MINUTE_MS;

const PHASES = 2 ** 32;

/** Offset of a domain's checks within each period. Pseudo-random, so that the checks are spread. */
const phaseMs = (domainId: string, everyMs: number): number =>
  Math.floor((sha256(domainId).readUInt32BE(0) / PHASES) * everyMs);

const steady = (domainId: string, everyMs: number, afterMs: number): number => {
  const phase = phaseMs(domainId, everyMs);
  return (Math.floor((afterMs - phase) / everyMs) + 1) * everyMs + phase;
};

/** Null once the wait has ended. */
const waiting = (since: string, afterMs: number): number | null => {
  const sinceMs = Date.parse(since);
  const eager = EAGER_MS.map((ms) => sinceMs + ms).find((ms) => ms > afterMs);
  if (eager !== undefined) return eager;
  const lastMs = sinceMs + (EAGER_MS.at(-1) ?? 0);
  const next = lastMs + (Math.floor((afterMs - lastMs) / WAITING_EVERY_MS) + 1) * WAITING_EVERY_MS;
  return next - sinceMs > WAITING_MAX_MS ? null : next;
};

const latest = (time: string, pair: DkimPair | null): string =>
  pair !== null && pair.addedAt > time ? pair.addedAt : time;

const ofLife = (domain: ExistingSendingDomain, afterMs: number): number | null => {
  const { domainId, createdAt, trouble, dkim } = domain;
  const life = lifeOf(domain, false);
  switch (life) {
    case 'pending':
      return waiting(latest(createdAt, dkim.pending), afterMs);
    case 'failed':
      return waiting(latest(trouble?.since ?? createdAt, dkim.pending), afterMs);
    case 'degraded':
      return steady(domainId, DEGRADED_EVERY_MS, afterMs);
    case 'verified':
      return steady(domainId, VERIFIED_EVERY_MS, afterMs);
    default:
      return life satisfies never;
  }
};

/**
 * Time of the next automatic check of a domain's records, in milliseconds since 1970: the first of its times after
 * `afterMs`. It depends only on the domain. Null if the records are only checked on request.
 */
export const nextCheckMs = (domain: ExistingSendingDomain, afterMs: number): number | null => {
  if (domain.status === 'deleted') return null;
  const { pending } = domain.dkim;
  const times = [ofLife(domain, afterMs), pending === null ? null : waiting(pending.addedAt, afterMs)];
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
};
