import { useEffect } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedApiKey } from '../../http/resources/api-keys/api-keys.ts';
import type { SerializedSuspension } from '../../http/resources/destinations.ts';
import type { SerializedDomain } from '../../http/resources/domains/domain.ts';
import type {
  SerializedDomainReputation,
  SerializedOrganizationReputation,
} from '../../http/resources/domains/reputation.ts';
import type { SerializedWebhook } from '../../http/resources/webhooks/webhook.ts';
import { ApiFault, request } from './api.ts';
import { onEvents } from './live.ts';
import { currentEnvironment } from './location.ts';
import { useRead } from './queries.ts';

/** Problems that need action, collected from every resource that can have one. */

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
  /** Most severe first. */
  readonly troubles: readonly Trouble[];
  /** Names of resources that this member or key has no permission to read. */
  readonly unseen: readonly string[];
  /** The first failure to read a permitted resource. */
  readonly fault: Error | null;
}

/** Checks at most 100 resources of each kind. Larger organizations rarely have more than a few problems at a time. */
const PAGE = '?limit=100';
/** Limits how many domains have their reputation read: each takes one request. */
const REPUTATIONS_MAX = 20;
const EXPIRES_SOON_MS = 14 * 86_400_000;
/** Warns when less than this share of the quota is left. */
const QUOTA_SHARE_LEFT = 0.2;
const EVERY_MS = 60_000;

/** True if mail is not sent or events are not delivered. */
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

interface FailedRead {
  readonly name: string;
  readonly error: Error;
}
const isForbidden = ({ error }: FailedRead): boolean => error instanceof ApiFault && error.status === 403;

/** Reads resources and records which ones it could not read. */
const createReader = (signal: AbortSignal) => {
  const refused: FailedRead[] = [];
  const note = (name: string, error: unknown): null => {
    refused.push({ name, error: error instanceof Error ? error : new Error(String(error)) });
    return null;
  };
  /** @returns null if the resource cannot be read. */
  const read = <T>(name: string, path: string): Promise<T | null> =>
    request<T>(path, { signal }).catch((error: unknown) => note(name, error));
  return { refused, read };
};
type ListReader = ReturnType<typeof createReader>['read'];

const readList = async <T>(read: ListReader, name: string, path: string): Promise<readonly T[]> =>
  (await read<List<T>>(name, `${path}${PAGE}`))?.data ?? [];

const ofReputation = (domain: SerializedDomain | null, reputation: Reputation | null): readonly Trouble[] =>
  reputation === null || reputation.level === 'good' ? [] : [{ of: 'reputation', domain, reputation }];

const inTrouble = (domains: readonly SerializedDomain[]): readonly Trouble[] =>
  domains.filter(({ status }) => status !== 'verified').map((domain) => ({ of: 'domain', domain }));

const ofRecords = async (read: ListReader): Promise<readonly Trouble[]> =>
  inTrouble(await readList<SerializedDomain>(read, 'domains', '/v1/domains'));

/** Problems with domains and their reputation. */
const ofDomains = async (read: ListReader): Promise<readonly Trouble[]> => {
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

const ofWebhooks = async (read: ListReader): Promise<readonly Trouble[]> =>
  (await readList<SerializedWebhook>(read, 'webhooks', '/v1/webhooks'))
    .filter(isFailing)
    .map((webhook) => ({ of: 'webhook', webhook }));

const ofDestinations = async (read: ListReader): Promise<readonly Trouble[]> =>
  (await readList<SerializedSuspension>(read, 'destinations', '/v1/destinations')).map((destination) => ({
    of: 'destination',
    destination,
  }));

const ofQuota = async (read: ListReader): Promise<readonly Trouble[]> => {
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

const ofKeys = async (read: ListReader): Promise<readonly Trouble[]> =>
  (await readList<SerializedApiKey>(read, 'API keys', '/v1/api-keys'))
    .filter(({ status, environment }) => status === 'active' && environment === currentEnvironment())
    .flatMap(ofKey);

const EVERYWHERE = [ofWebhooks, ofKeys];
/** Sources for live mail only. Simulated mail uses no domain or destination and is free. */
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

/** The screen on which the problem can be fixed. */
const sectionOf = ({ of }: Trouble): string => {
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

/** Event types that can add or resolve problems. */
const TELLING = /^(?:domain|webhook|api_key|destination|billing|reputation|organization)\./;
/** Debounces refreshes, so that several problems at once cause one read. */
const SOON_MS = 1_000;

/** Sources of the badge counts. Reputation is left out because it takes one request per domain. */
const BADGES = { live: [ofRecords, ofWebhooks, ofKeys, ofDestinations, ofQuota], test: EVERYWHERE } as const;

const readCounts = async (signal: AbortSignal): Promise<readonly Trouble[]> => {
  const { read } = createReader(signal);
  return (await Promise.all(BADGES[currentEnvironment()].map((source) => source(read)))).flat();
};

/** Problem counts by screen. They refresh every minute and after each relevant event. */
export const useAttentionCounts = (): ReadonlyMap<string, number> => {
  const { data, refetch } = useRead(['badges'], readCounts, { everyMs: EVERY_MS });
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
