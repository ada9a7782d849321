import { idPattern } from '../kernel/ids.ts';
import { DEFAULT_PLAN, dayOf, type PlannedDay, plannedDay, startOf } from '../warm-up/warm-up.ts';

/**
 * Pools of addresses that direct delivery sends from: `bulk=192.0.2.8; org_…=192.0.2.9; example.com/bulk=192.0.2.10,192.0.2.11`.
 * A pool is for a stream, for a sending domain or an organization, or for one stream of these.
 */

/** Addresses by the mail that they send: `bulk`, `org_…`, `org_…/bulk`, `example.com` or `example.com/bulk`. */
export type SourcePools = ReadonlyMap<string, readonly string[]>;

/** Facts about a message that choose its pool. */
export interface PooledSender {
  /** Domain of `From`, in lower case. */
  readonly domain: string;
  /** Absent: mail of the service itself. */
  readonly organizationId?: string | undefined;
  readonly stream: string;
}

const STREAM = 'transactional|bulk';
const ORGANIZATION = idPattern('org').slice(1, -1);
const DOMAIN = String.raw`(?=.{4,253}(?:/|$))(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}`;
const SENDERS = new RegExp(`^(?:(?:${STREAM})|(?:${ORGANIZATION}|${DOMAIN})(?:/(?:${STREAM}))?)$`);

const parts = (text: string, separator: string): readonly string[] => text.split(separator).map((part) => part.trim());

/** @returns the pools, or a sentence about the first fault. */
export const readSourcePools = (text: string, isAddress: (text: string) => boolean): SourcePools | string => {
  const pools = new Map<string, readonly string[]>();
  const problemOf = (senders: string, addresses: readonly string[]): string | undefined => {
    if (!SENDERS.test(senders)) {
      return `set \`transactional\`, \`bulk\`, an organization's id or a sending domain instead of \`${senders}\``;
    }
    if (pools.has(senders)) return `set \`${senders}\` once, with its addresses separated by commas`;
    const wrong = addresses.find((address) => !isAddress(address));
    return wrong === undefined ? undefined : `set an IP address instead of \`${wrong}\` for \`${senders}\``;
  };
  for (const entry of parts(text, ';').filter((part) => part !== '')) {
    const [name = '', list = ''] = parts(entry, '=');
    const senders = name.toLowerCase();
    const addresses = parts(list, ',');
    const problem = problemOf(senders, addresses);
    if (problem !== undefined) return problem;
    pools.set(senders, addresses);
  }
  return pools;
};

/** The addresses for a message: those of its sending domain before those of its organization and of its stream. */
export const sourcePoolOf = (
  pools: SourcePools,
  { domain, organizationId = '', stream }: PooledSender,
): readonly string[] | undefined =>
  [`${domain}/${stream}`, domain, `${organizationId}/${stream}`, organizationId, stream]
    .map((senders) => pools.get(senders))
    .find((addresses) => addresses !== undefined);

/** First day of the warm-up of new addresses (`YYYY-MM-DD`, UTC), by address: `192.0.2.8=2026-11-29; 192.0.2.9=2026-12-04`. */
export type SourceWarmUps = ReadonlyMap<string, string>;

/** False for days that do not exist, such as 31 April. */
const isDay = (text: string): boolean => {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? startOf(text) : Number.NaN;
  return !Number.isNaN(ms) && dayOf(new Date(ms)) === text;
};

/** @returns the warm-ups, or a sentence about the first fault. */
export const readSourceWarmUps = (text: string, isAddress: (text: string) => boolean): SourceWarmUps | string => {
  const warmUps = new Map<string, string>();
  for (const entry of parts(text, ';').filter((part) => part !== '')) {
    const [address = '', day = ''] = parts(entry, '=');
    if (!isAddress(address)) return `set an IP address instead of \`${address}\``;
    if (!isDay(day)) return `set the first day of ${address} as YYYY-MM-DD instead of \`${day}\``;
    if (warmUps.has(address)) return `set \`${address}\` once`;
    warmUps.set(address, day);
  }
  return warmUps;
};

/** The day of an address in its warm-up; null: it is not warming up. @param today `YYYY-MM-DD`, UTC. */
export const sourceDay = (warmUps: SourceWarmUps, address: string, today: string): PlannedDay | null => {
  const startsOn = warmUps.get(address);
  return startsOn === undefined ? null : plannedDay({ startsOn, caps: DEFAULT_PLAN }, today);
};
