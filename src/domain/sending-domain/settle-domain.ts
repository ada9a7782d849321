import type { SendingDomainEvent } from '../kernel/events.ts';
import { type DkimPair, decidingPair, dkimHost, rsaOf } from './dkim.ts';
import type { DkimKey, RecordSeen, RecordState } from './events.ts';
import { type ExistingSendingDomain, lifeOf, verificationRecord } from './sending-domain.ts';

const HOUR_MS = 3_600_000;

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

export interface Look {
  /** DNS results for this registration of the domain. */
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
