import type { Aggregate } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import { DomainError } from '../kernel/errors.ts';
import type { DomainNameEvent, DomainRecordsEvent, SendingDomainEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { DkimKey, RecordKind, RecordState, SeenRecord, VerificationMethod } from './events.ts';
import {
  type DkimPair,
  decidingPair,
  dkimHost,
  type ExistingSendingDomain,
  lifeOf,
  rsaOf,
  verificationRecord,
} from './sending-domain.ts';

/** DNS state of a domain's mail records. */
export interface DomainRecords {
  readonly spf: RecordState;
  /** State of the RSA key that signs, or will sign. */
  readonly dkim: RecordState;
  readonly dmarc: RecordState;
  /** State of each record. */
  readonly records: readonly SeenRecord[];
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

interface CheckRecords {
  readonly domainId: string;
  readonly records: readonly SeenRecord[];
  /** Host of the key record that determines the state; otherwise null. */
  readonly dkimHost: string | null;
  /** True if the check was requested. It is then recorded even if nothing has changed. */
  readonly isAsked: boolean;
  readonly now: string;
}

/** A repeated request within this time gets the same response without an event. Lower: polling fills the log. */
const NOTED_AGAIN_MS = 60_000;

const same = (a: readonly SeenRecord[], b: readonly SeenRecord[]): boolean => JSON.stringify(a) === JSON.stringify(b);

const isOld = (checkedAt: string | null, now: string): boolean =>
  checkedAt === null || Date.parse(now) - Date.parse(checkedAt) >= NOTED_AGAIN_MS;

/** Sorts the values, because name servers rotate the order of their answers. */
const inOrder = (records: readonly SeenRecord[]): SeenRecord[] =>
  records.map((record) => ({ ...record, seen: record.seen.toSorted() }));

/** Records a check if its result differs from the previous one. */
export const checkRecords = (
  state: DomainRecords,
  { domainId, records, dkimHost, isAsked, now }: CheckRecords,
): readonly DomainRecordsEvent[] => {
  const seen = inOrder(records);
  if (same(state.records, seen) && !(isAsked && isOld(state.checkedAt, now))) return [];
  const stateOf = (isIt: (record: SeenRecord) => boolean): RecordState => seen.find(isIt)?.state ?? 'unknown';
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

/** The domain that has proved ownership of the name. The latest proof applies. */
export type DomainName =
  | { readonly status: 'free' }
  | { readonly status: 'taken'; readonly domainId: string; readonly method: VerificationMethod };

interface Claim {
  readonly domainId: string;
  readonly capturing: boolean;
  /** A domain that proved the name but no longer holds it, because it was deleted. */
  readonly formerHolder: string | null;
}

/**
 * Whether another domain holds the name. A name taken while mail was captured is free again once mail is sent for real.
 */
export const isTakenByAnother = (name: DomainName, { domainId, capturing, formerHolder }: Claim): boolean =>
  name.status === 'taken' &&
  name.domainId !== domainId &&
  name.domainId !== formerHolder &&
  (capturing || name.method === 'dns');

export const domainName: Aggregate<DomainName, DomainNameEvent> = {
  category: CATEGORIES.domainName,
  initial: { status: 'free' },
  evolve: (state, event) => {
    switch (event.type) {
      case 'DomainNameTaken':
        return { status: 'taken', domainId: event.data.domainId, method: event.data.method };
      case 'DomainNameReleased':
        return state.status === 'taken' && state.domainId === event.data.domainId ? { status: 'free' } : state;
      default:
        return event satisfies never;
    }
  },
};

/** Releases the name if the domain holds it, so that others may prove it. */
export const releaseName = (
  state: DomainName,
  { name, domainId }: { readonly name: string; readonly domainId: string },
): readonly DomainNameEvent[] =>
  state.status === 'taken' && state.domainId === domainId
    ? [{ type: 'DomainNameReleased', data: { name, domainId } }]
    : [];

interface TakeName {
  readonly name: string;
  readonly domainId: string;
  readonly method: VerificationMethod;
  readonly formerHolder: string | null;
}

/** Assigns the name to the first domain that proves it. @throws {DomainError} `domain_already_exists`. */
export const takeName = (state: DomainName, { formerHolder, ...claim }: TakeName): readonly DomainNameEvent[] => {
  if (isTakenByAnother(state, { ...claim, capturing: claim.method === 'capture', formerHolder })) {
    throw new DomainError(
      'domain_already_exists',
      `another organization has already verified the domain ${claim.name}`,
    );
  }
  if (state.status === 'taken' && state.domainId === claim.domainId && state.method === claim.method) return [];
  return [{ type: 'DomainNameTaken', data: { ...claim } }];
};

/**
 * Time for which a domain may send without a required record. Higher: sends mail that receivers distrust, and lets a
 * former owner of the name continue to send. Lower: a mistake made on a Friday stops mail.
 */
const FAILS_AFTER_MS = 72 * HOUR_MS;

/**
 * Time for which the records of retired keys are needed. Receivers verify on acceptance, which the longest time to live
 * delays by days, and again when they evaluate returned mail. Higher: keeps old keys usable. Lower: such mail fails
 * verification.
 */
const SAFE_TO_REMOVE_AFTER_MS = 7 * 24 * HOUR_MS;

interface Look {
  /** DNS results for this registration of the domain. */
  readonly records: readonly SeenRecord[];
  readonly token: string;
  readonly now: string;
}

const later = (now: string, ms: number): string => new Date(Date.parse(now) + ms).toISOString();

const createStates = (name: string, { records }: Look) => {
  const at = (host: string): RecordState => records.find((record) => record.host === host)?.state ?? 'unknown';
  const ofKey = ({ selector }: DkimKey): RecordState => at(dkimHost(name, selector));
  return { at, ofKey };
};

type States = ReturnType<typeof createStates>;

const rsaIsValid = (pair: DkimPair | null, { ofKey }: States): pair is DkimPair => {
  const key = pair === null ? undefined : rsaOf(pair);
  return key !== undefined && ofKey(key) === 'valid';
};

/** The RSA key, once it signs, keeps signing whatever its record says. The other key stops when its record is gone. */
const signs = (key: DkimKey, pair: DkimPair, { ofKey }: States): boolean => {
  const state = ofKey(key);
  const signed = pair.signing.includes(key.selector);
  return state === 'valid' || (signed && (state === 'unknown' || key === rsaOf(pair)));
};

/** Selectors of a pair's keys that may sign according to the DNS results. */
const signing = (pair: DkimPair, states: States): readonly string[] =>
  pair.keys.filter((key) => signs(key, pair, states)).map(({ selector }) => selector);

const activation = (
  { domainId, dkim: { active, pending } }: ExistingSendingDomain,
  states: States,
  now: string,
): readonly SendingDomainEvent[] => {
  if (rsaIsValid(pending, states)) {
    const safeToRemoveAt = active === null ? null : later(now, SAFE_TO_REMOVE_AFTER_MS);
    const selectors = [...signing(pending, states)];
    return [{ type: 'DkimKeysActivated', data: { domainId, selectors, safeToRemoveAt } }];
  }
  if (active === null) return [];
  const selectors = [...signing(active, states)];
  const isSame = selectors.join() === active.signing.join();
  return isSame || selectors.length === 0
    ? []
    : [{ type: 'DkimKeysActivated', data: { domainId, selectors, safeToRemoveAt: null } }];
};

/** Hosts of the required records. Keys that are about to take over are treated as active. */
const requiredHosts = (domain: ExistingSendingDomain, states: States): readonly string[] => {
  const { name, dkim } = domain;
  const pair = rsaIsValid(dkim.pending, states) ? dkim.pending : decidingPair(dkim);
  const rsa = pair === null ? undefined : rsaOf(pair);
  return [verificationRecord(domain).host, ...(rsa === undefined ? [] : [dkimHost(name, rsa.selector)])];
};

const isGone = (state: RecordState): boolean => state === 'missing' || state === 'invalid';

const loss = (
  domain: ExistingSendingDomain,
  records: readonly string[],
  now: string,
): readonly SendingDomainEvent[] => {
  const { domainId, name, trouble } = domain;
  const life = lifeOf(domain, false);
  if (life === 'verified') {
    const data = { domainId, name, failsAt: later(now, FAILS_AFTER_MS), records: [...records] };
    return [{ type: 'DomainDegraded', data }];
  }
  return trouble?.status === 'degraded' && now >= trouble.failsAt
    ? [{ type: 'DomainFailed', data: { domainId, name } }]
    : [];
};

const statusEvents = (domain: ExistingSendingDomain, states: States, now: string): readonly SendingDomainEvent[] => {
  const { domainId, name } = domain;
  const required = requiredHosts(domain, states);
  const gone = required.filter((host) => isGone(states.at(host)));
  if (gone.length > 0) return loss(domain, gone, now);
  const isComplete = required.every((host) => states.at(host) === 'valid');
  return isComplete && lifeOf(domain, false) !== 'verified'
    ? [{ type: 'DomainVerified', data: { domainId, name, method: 'dns' } }]
    : [];
};

const isSending = (domain: ExistingSendingDomain, events: readonly SendingDomainEvent[]): boolean => {
  const has = (type: SendingDomainEvent['type']): boolean => events.some((event) => event.type === type);
  const life = lifeOf(domain, false);
  return has('DomainVerified') || ((life === 'verified' || life === 'degraded') && !has('DomainFailed'));
};

/**
 * Decides from DNS results whether a domain is verified, degraded, failed or unchanged, and which of its keys sign from
 * now on. A missing answer changes nothing.
 */
export const settleDomain = (domain: ExistingSendingDomain, look: Look): readonly SendingDomainEvent[] => {
  if (domain.status === 'deleted' || domain.token !== look.token) return [];
  const states = createStates(domain.name, look);
  const events = statusEvents(domain, states, look.now);
  return isSending(domain, events) ? [...events, ...activation(domain, states, look.now)] : events;
};
