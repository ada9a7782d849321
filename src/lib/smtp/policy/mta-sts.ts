import { LRUCache } from 'lru-cache';
import type { System } from '../../async/async.ts';
import { type Resolver, ResolverUnavailable } from '../dns/resolver.ts';
import {
  createFetchStsPolicy,
  type FetchStsPolicyOptions,
  readStsPolicy,
  type StsPolicy,
  stsRecordId,
} from './sts-policy.ts';

export interface MtaStsOptions {
  readonly resolver: Pick<Resolver, 'txt'>;
  readonly system: Pick<System, 'monotonicMs'>;
  /** The lookup must return only public addresses, since the domain is untrusted. */
  readonly fetch: FetchStsPolicyOptions;
}

export interface MtaSts {
  /** The policy for the domain's mail; null: none. Never fails: an unknown policy counts as absent. */
  policyOf(domain: string): Promise<StsPolicy | null>;
  close(): Promise<void>;
}

/** RFC 8461 §3.3: after a failed fetch, the policy is not requested again for this long. */
const FAILURE_MS = 5 * 60 * 1000;
/** A shorter `max_age` would fetch the policy for each message. */
const AGE_SECONDS_MIN = 60;
/**
 * A policy is fetched again this long before it expires (RFC 8461 §10.2), so that blocking one fetch does not end it.
 */
const REFRESH_SECONDS_MAX = 24 * 60 * 60;
/** Policy texts and their overhead: 20,000 usual ones. An evicted policy no longer protects its domain. */
const CACHE_BYTES_MAX = 16 * 1024 * 1024;
const ENTRY_BYTES = 500;

interface Known {
  readonly policy: StsPolicy;
  /** Id from the TXT record. */
  readonly id: string;
  readonly refreshAtMs: number;
  readonly untilMs: number;
}

interface Failed {
  readonly id: string;
  readonly untilMs: number;
}

/**
 * MTA-STS (RFC 8461). Policies are kept in memory for their `max_age`: a known policy stays in force when the domain's
 * record or its policy is unavailable (§5.1). A process that has just started knows none.
 */
export const createMtaSts = ({ resolver, system, fetch: options }: MtaStsOptions): MtaSts => {
  const { fetch, close } = createFetchStsPolicy(options);
  const kept = new LRUCache<string, Known>({ maxSize: CACHE_BYTES_MAX });
  const failures = new LRUCache<string, Failed>({ maxSize: CACHE_BYTES_MAX });
  const underWay = new Map<string, Promise<StsPolicy | null>>();

  const currentId = async (domain: string): Promise<string | null> => {
    try {
      return stsRecordId((await resolver.txt(`_mta-sts.${domain}`)).records);
    } catch (error) {
      if (error instanceof ResolverUnavailable) return null;
      throw error;
    }
  };

  const keep = (domain: string, id: string, text: string): StsPolicy | null => {
    const policy = readStsPolicy(text);
    if (policy === null) return null;
    const nowMs = system.monotonicMs();
    const ageSeconds = Math.max(policy.maxAgeSeconds, AGE_SECONDS_MIN);
    const refreshAtMs = nowMs + Math.min(ageSeconds / 2, REFRESH_SECONDS_MAX) * 1000;
    kept.set(
      domain,
      { policy, id, refreshAtMs, untilMs: nowMs + ageSeconds * 1000 },
      { size: text.length + ENTRY_BYTES },
    );
    return policy;
  };

  const getAnew = async (domain: string, id: string): Promise<StsPolicy | null> => {
    const failed = failures.get(domain);
    if (failed?.id === id && system.monotonicMs() < failed.untilMs) return null;
    const text = await fetch(domain);
    const policy = text === null ? null : keep(domain, id, text);
    if (policy === null)
      failures.set(domain, { id, untilMs: system.monotonicMs() + FAILURE_MS }, { size: ENTRY_BYTES });
    return policy;
  };

  const knownOf = (domain: string): Known | null => {
    const last = kept.get(domain);
    return last !== undefined && system.monotonicMs() < last.untilMs ? last : null;
  };

  const find = async (domain: string): Promise<StsPolicy | null> => {
    const id = await currentId(domain);
    const known = knownOf(domain);
    const isCurrent = known?.id === id && system.monotonicMs() < known.refreshAtMs;
    const anew = id === null || isCurrent ? null : await getAnew(domain, id);
    return anew ?? known?.policy ?? null;
  };

  return {
    policyOf: (domain) => {
      const name = domain.toLowerCase();
      const shared = underWay.get(name) ?? find(name).finally(() => underWay.delete(name));
      underWay.set(name, shared);
      return shared;
    },
    close: async () => close(),
  };
};
