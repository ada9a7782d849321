import type { Aggregate } from '../aggregate.ts';
import { sha256 } from '../digest.ts';
import type { DomainRecordsEvent } from '../events.ts';
import { CATEGORIES } from '../streams.ts';
import type { DkimPair } from './dkim.ts';
import type { RecordKind, RecordSeen, RecordState } from './events.ts';
import { type ExistingSendingDomain, lifeOf } from './sending-domain.ts';

/** What the DNS says of a domain's mail. */
export interface DomainRecords {
  readonly spf: RecordState;
  /** Of the RSA key that signs, or is to. */
  readonly dkim: RecordState;
  readonly dmarc: RecordState;
  /** Each record by itself. */
  readonly records: readonly RecordSeen[];
  /** When this was first seen, or seen again by somebody who asked; null: nobody has looked yet. */
  readonly checkedAt: string | null;
}

/** Nobody has looked yet. */
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
  /** Host of the key record that counts; null: there is none. */
  readonly dkimHost: string | null;
  /** Somebody asked: that it was looked at is worth a note although nothing is new. */
  readonly isAsked: boolean;
  readonly now: string;
}

/** Within it a repeated request gets the same answer without an event. Shorter lets polling fill the log. */
const NOTED_AGAIN_MS = 60_000;

const same = (a: readonly RecordSeen[], b: readonly RecordSeen[]): boolean => JSON.stringify(a) === JSON.stringify(b);

const isOld = (checkedAt: string | null, now: string): boolean =>
  checkedAt === null || Date.parse(now) - Date.parse(checkedAt) >= NOTED_AGAIN_MS;

/** Answers come in any order; a name server that turns them round says nothing new. */
const inOrder = (records: readonly RecordSeen[]): RecordSeen[] =>
  records.map((record) => ({ ...record, seen: record.seen.toSorted() }));

/** Notes what was seen where it is not what was seen before. */
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

/** First checks while records are waited for: a record that is published at once is found within minutes. */
const EAGER_MS: readonly number[] = [1, 3, 8, 23].map((minutes) => minutes * MINUTE_MS);
/** After those. Shorter asks for nothing, longer leaves people waiting. */
const WAITING_EVERY_MS = HOUR_MS;
/** What was not published by then is not waited for. */
const WAITING_MAX_MS = 14 * DAY_MS;
/** Longer sees later that a record is gone; shorter asks servers that have nothing new. */
const VERIFIED_EVERY_MS = 6 * HOUR_MS;
/** Somebody is mending it; longer leaves it in trouble although it is mended. */
const DEGRADED_EVERY_MS = 15 * MINUTE_MS;

const PHASES = 2 ** 32;

/** Where in each period a domain has its turn: as if at random, so that not all are looked at together. */
const phaseMs = (domainId: string, everyMs: number): number =>
  Math.floor((sha256(domainId).readUInt32BE(0) / PHASES) * everyMs);

const steady = (domainId: string, everyMs: number, afterMs: number): number => {
  const phase = phaseMs(domainId, everyMs);
  return (Math.floor((afterMs - phase) / everyMs) + 1) * everyMs + phase;
};

/** null: it has been waited for long enough. */
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
 * When the records of a domain are looked at next by itself, in milliseconds since 1970: the first of its times that is
 * after `afterMs`. It follows from the domain alone. null: only when somebody asks.
 */
export const nextCheckMs = (domain: ExistingSendingDomain, afterMs: number): number | null => {
  if (domain.status === 'deleted') return null;
  const { pending } = domain.dkim;
  const times = [ofLife(domain, afterMs), pending === null ? null : waiting(pending.addedAt, afterMs)];
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
};
