import { useEffect } from 'preact/hooks';
import type { SerializedApiKey } from '../../http/schemas/api-key.ts';
import type { SerializedSuspension } from '../../http/schemas/destination.ts';
import type { SerializedDomain } from '../../http/schemas/domain.ts';
import type { List } from '../../http/schemas/envelope.ts';
import type {
  SerializedDomainReputation,
  SerializedOrganizationReputation,
} from '../../http/schemas/sender-reputation.ts';
import type { SerializedWebhook } from '../../http/schemas/webhook.ts';
import { ApiFault, request } from './api.ts';
import { onEvents } from './live.ts';
import { currentEnvironment } from './location.ts';
import { usePermissions } from './names.ts';
import { useRead } from './queries.ts';

/** What somebody has to do something about, read from everything that can be in trouble. */

type Reputation = SerializedDomainReputation | SerializedOrganizationReputation;
type EarlierSecret = SerializedApiKey['earlier_secrets'][number];

interface Billing {
  readonly quota: { readonly limit: number; readonly remaining: number; readonly hard: boolean } | null;
  readonly period: { readonly end: string };
}

export type Trouble =
  | { readonly of: 'domain'; readonly domain: SerializedDomain }
  | { readonly of: 'reputation'; readonly domain: SerializedDomain | null; readonly reputation: Reputation }
  | { readonly of: 'webhook'; readonly webhook: SerializedWebhook }
  | { readonly of: 'destination'; readonly destination: SerializedSuspension }
  | { readonly of: 'expiring key'; readonly apiKey: SerializedApiKey; readonly expiresAt: string }
  | { readonly of: 'earlier secret'; readonly apiKey: SerializedApiKey; readonly secret: EarlierSecret }
  | { readonly of: 'quota'; readonly quota: NonNullable<Billing['quota']>; readonly endsAt: string };

export interface Attention {
  /** The worst first. */
  readonly troubles: readonly Trouble[];
  /** Names of what this person or key may not look at. */
  readonly unseen: readonly string[];
  /** What could not be read, though it may be. */
  readonly fault: Error | null;
}

/** Things of one kind that are looked at. An organization with more has few of them in trouble at a time. */
const PAGE = '?limit=100';
/** Domains whose reputation is read, a request each. */
const REPUTATIONS_MAX = 20;
const EXPIRES_SOON_MS = 14 * 86_400_000;
/** Less is left of the quota. */
const QUOTA_SHARE_LEFT = 0.2;
const EVERY_MS = 60_000;

/** Whether mail does not leave, or is not told of. */
export const isFault = (trouble: Trouble): boolean => {
  switch (trouble.of) {
    case 'domain':
      return trouble.domain.status === 'failed';
    case 'reputation':
      return trouble.reputation.level === 'paused';
    case 'quota':
      return trouble.quota.remaining === 0 && trouble.quota.hard;
    case 'webhook':
      return true;
    case 'destination':
    case 'expiring key':
    case 'earlier secret':
      return false;
  }
};

interface Refused {
  readonly name: string;
  readonly error: Error;
}
const isForbidden = ({ error }: Refused): boolean => error instanceof ApiFault && error.status === 403;

/** Reads what it may, and notes what it could not. */
const createReader = (signal: AbortSignal) => {
  const refused: Refused[] = [];
  const note = (name: string, error: unknown): null => {
    refused.push({ name, error: error instanceof Error ? error : new Error(String(error)) });
    return null;
  };
  /** @returns null: it cannot be read. */
  const read = <T>(name: string, path: string): Promise<T | null> =>
    request<T>(path, { signal }).catch((error: unknown) => note(name, error));
  return { refused, read };
};
type Read = ReturnType<typeof createReader>['read'];

const readList = async <T>(read: Read, name: string, path: string): Promise<readonly T[]> =>
  (await read<List<T>>(name, `${path}${PAGE}`))?.data ?? [];

const ofReputation = (domain: SerializedDomain | null, reputation: Reputation | null): readonly Trouble[] =>
  reputation === null || reputation.level === 'good' ? [] : [{ of: 'reputation', domain, reputation }];

const inTrouble = (domains: readonly SerializedDomain[]): readonly Trouble[] =>
  domains.filter(({ status }) => status !== 'verified').map((domain) => ({ of: 'domain', domain }));

const ofRecords = async (read: Read): Promise<readonly Trouble[]> =>
  inTrouble(await readList<SerializedDomain>(read, 'domains', '/v1/domains'));

/** Domains, and how their mail is taken. */
const ofDomains = async (read: Read): Promise<readonly Trouble[]> => {
  const domains = await readList<SerializedDomain>(read, 'domains', '/v1/domains');
  const reputations = domains
    .slice(0, REPUTATIONS_MAX)
    .map(async (domain) =>
      ofReputation(domain, await read<Reputation>('reputation', `/v1/domains/${domain.id}/reputation`)),
    );
  const own = read<Reputation>('reputation', '/v1/organization/reputation').then((found) => ofReputation(null, found));
  return [...inTrouble(domains), ...(await Promise.all([own, ...reputations])).flat()];
};

const isFailing = ({ status, disabled_reason: reason, failing_since: since }: SerializedWebhook): boolean =>
  status === 'paused' || since !== null || (reason !== null && reason !== 'requested');

const ofWebhooks = async (read: Read): Promise<readonly Trouble[]> =>
  (await readList<SerializedWebhook>(read, 'webhooks', '/v1/webhooks'))
    .filter(isFailing)
    .map((webhook) => ({ of: 'webhook', webhook }));

const ofDestinations = async (read: Read): Promise<readonly Trouble[]> =>
  (await readList<SerializedSuspension>(read, 'destinations', '/v1/destinations')).map((destination) => ({
    of: 'destination',
    destination,
  }));

const ofQuota = async (read: Read): Promise<readonly Trouble[]> => {
  const { quota, period } = (await read<Billing>('the quota', '/v1/billing')) ?? { quota: null };
  if (quota === null || period === undefined) return [];
  return quota.remaining > quota.limit * QUOTA_SHARE_LEFT ? [] : [{ of: 'quota', quota, endsAt: period.end }];
};

const ofKey = (apiKey: SerializedApiKey): readonly Trouble[] => {
  const { expires_at: expiresAt } = apiKey;
  const earlier = apiKey.earlier_secrets.map((secret): Trouble => ({ of: 'earlier secret', apiKey, secret }));
  const isExpiring = expiresAt !== null && Date.parse(expiresAt) - Date.now() < EXPIRES_SOON_MS;
  return isExpiring ? [{ of: 'expiring key', apiKey, expiresAt }, ...earlier] : earlier;
};

const ofKeys = async (read: Read): Promise<readonly Trouble[]> =>
  (await readList<SerializedApiKey>(read, 'API keys', '/v1/api-keys'))
    .filter(({ status, environment }) => status === 'active' && environment === currentEnvironment())
    .flatMap(ofKey);

const EVERYWHERE = [ofWebhooks, ofKeys];
/** Simulated mail leaves from no domain to no destination, and costs nothing. */
const LIVE = [ofDomains, ofWebhooks, ofDestinations, ofQuota, ofKeys];

const readAll = async (signal: AbortSignal): Promise<Attention> => {
  const { read, refused } = createReader(signal);
  const sources = currentEnvironment() === 'live' ? LIVE : EVERYWHERE;
  const found = await Promise.all(sources.map((source) => source(read)));
  return {
    troubles: found.flat().toSorted((left, right) => Number(isFault(right)) - Number(isFault(left))),
    unseen: [...new Set(refused.filter(isForbidden).map(({ name }) => name))],
    fault: refused.find((one) => !isForbidden(one))?.error ?? null,
  };
};

/** The screen where something is done about it. */
export const sectionOf = ({ of }: Trouble): string => {
  switch (of) {
    case 'domain':
    case 'reputation':
      return '/domains';
    case 'webhook':
      return '/webhooks';
    case 'destination':
      return '/delivery';
    case 'expiring key':
    case 'earlier secret':
      return '/keys';
    case 'quota':
      return '/billing';
  }
};

/** Events after which there may be other troubles than before. */
const TELLING = /^(?:domain|webhook|api_key|destination|billing|reputation|organization)\./;
/** Troubles that come together are read once. */
const SOON_MS = 1_000;

/** What each permission lets badges be read from: without the reputation, which is a request for each domain. */
const BADGES = {
  live: { manage: [ofRecords, ofWebhooks, ofKeys], admin: [ofDestinations, ofQuota] },
  test: { manage: EVERYWHERE, admin: [] },
} as const;

const readCounts = async (permissions: readonly string[], signal: AbortSignal): Promise<readonly Trouble[]> => {
  const { read } = createReader(signal);
  const { manage, admin } = BADGES[currentEnvironment()];
  const isAdmin = permissions.includes('admin');
  const sources = [...(isAdmin || permissions.includes('manage') ? manage : []), ...(isAdmin ? admin : [])];
  return (await Promise.all(sources.map((source) => source(read)))).flat();
};

/** How many there are, by screen. They are read again when an event tells of one, and each minute. */
export const useAttentionCounts = (): ReadonlyMap<string, number> => {
  const permissions = usePermissions();
  const { data, refetch } = useRead(['badges', permissions], (signal) => readCounts(permissions, signal), {
    everyMs: EVERY_MS,
    enabled: permissions.length > 0,
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onEvents((events) => {
      if (!events.some(({ type }) => TELLING.test(type))) return;
      clearTimeout(timer);
      timer = setTimeout(() => void refetch(), SOON_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [refetch]);
  const sections = (data ?? []).map(sectionOf);
  return new Map(sections.map((section) => [section, sections.filter((one) => one === section).length]));
};

export const useAttention = () => useRead(['attention'], readAll, { everyMs: EVERY_MS });
