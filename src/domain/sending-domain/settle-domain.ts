import type { SendingDomainEvent } from '../events.ts';
import { type DkimPair, decidingPair, dkimHost, rsaOf } from './dkim.ts';
import type { DkimKey, RecordSeen, RecordState } from './events.ts';
import { type ExistingSendingDomain, lifeOf, verificationRecord } from './sending-domain.ts';

const HOUR_MS = 3_600_000;

/**
 * How long a domain goes on sending without a record it needs. Shorter ends mail over a mistake made on a Friday; longer
 * sends mail that receivers do not believe, and lets a former owner of the name go on sending from it.
 */
const FAILS_AFTER_MS = 72 * HOUR_MS;

/**
 * How long the records of keys that sign no more are needed. Receivers verify when they accept, which the longest time
 * to live puts off by days, and again when they judge what comes back; shorter fails such mail, longer keeps an old key
 * in use.
 */
const SAFE_TO_REMOVE_AFTER_MS = 7 * 24 * HOUR_MS;

export interface Look {
  /** What the DNS was seen to say, of this registration of the domain. */
  readonly records: readonly RecordSeen[];
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

/** The deciding key signs on whatever its record says for now; the other only while its record is there. */
const signs = (key: DkimKey, pair: DkimPair, { ofKey }: States): boolean => {
  const state = ofKey(key);
  const signed = pair.signing.includes(key.selector);
  return state === 'valid' || (signed && (state === 'unknown' || key === rsaOf(pair)));
};

/** Keys of a pair that may sign by what is seen. */
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

/** Hosts of the records it cannot do without, keys that take over just now counted as having done so. */
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
 * What becomes of a domain by what the DNS was seen to say: verified, degraded, failed, or as it is; and which of its
 * keys sign from now on. An answer that did not come changes nothing.
 */
export const settleDomain = (domain: ExistingSendingDomain, look: Look): readonly SendingDomainEvent[] => {
  if (domain.status === 'deleted' || domain.token !== look.token) return [];
  const states = createStates(domain.name, look);
  const events = statusEvents(domain, states, look.now);
  return isSending(domain, events) ? [...events, ...activation(domain, states, look.now)] : events;
};
