import type { LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import { Client } from 'undici';
import { createSemaphore, type System } from '../../async/async.ts';
import { type Resolver, ResolverUnavailable, registeredName } from '../dns/resolver.ts';

/** Other records at the name are unrelated (RFC 8461 §3.1). */
const BEGINNING = 'v=STSv1;';
const FIELD = /^[ \t]*(?<name>[a-z0-9][a-z0-9_.-]{0,31})=(?<value>[!-:<>-~]+)[ \t]*$/i;
const BLANK = /^[ \t]*$/;
/** Records in use have 40 characters. Longer ones would block the event loop, without saying more. */
const CHARACTERS_MAX = 1000;
const ID = /^[a-z0-9]{1,32}$/i;

/**
 * The id in the TXT records of `_mta-sts.<domain>`. A changed id means a changed policy. Null: no policy, which also
 * applies to several records or a malformed one (RFC 8461 §3.1).
 */
export const stsRecordId = (texts: readonly string[]): string | null => {
  const [only, ...others] = texts.filter((text) => text.startsWith(BEGINNING));
  if (only === undefined || others.length > 0 || only.length > CHARACTERS_MAX) return null;
  const fields = only.slice(BEGINNING.length).split(';');
  // The last semicolon is optional.
  const given = BLANK.test(fields.at(-1) ?? '') ? fields.slice(0, -1) : fields;
  const read = given.map((field) => FIELD.exec(field)?.groups ?? null);
  if (read.includes(null)) return null;
  const id = read.find((field) => field?.name === 'id')?.value ?? '';
  return ID.test(id) ? id : null;
};

/** Policy of a domain for its mail hosts (RFC 8461 §3.2). */
export interface StsPolicy {
  /** `enforce`: mail goes only to these hosts, and only with a certificate that is valid for the host. */
  readonly mode: 'enforce' | 'testing' | 'none';
  /** Lower case. `*.` may replace one label at the beginning. */
  readonly mx: readonly string[];
  readonly maxAgeSeconds: number;
}

/** One year, the maximum of RFC 8461 §3.2. */
const MAX_AGE_SECONDS_MAX = 31_557_600;

const LINE = /^(?<name>[a-z0-9][a-z0-9_.-]{0,31}):[ \t]*(?<value>.*)$/i;
const MAX_AGE = /^\d{1,10}$/;
const MX =
  /^(?=.{1,255}$)(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

const MODES = ['enforce', 'testing', 'none'] as const;

interface Field {
  readonly name: string;
  readonly value: string;
}

const fieldsOf = (text: string): readonly Field[] | null => {
  const fields: Field[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') continue;
    const { name, value } = LINE.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) return null;
    fields.push({ name, value: value.trim() });
  }
  return fields;
};

/**
 * If a field occurs twice, the first one counts. Unknown fields are ignored (RFC 8461 §3.2). Null: not a valid policy.
 */
export const readStsPolicy = (text: string): StsPolicy | null => {
  const fields = fieldsOf(text) ?? [];
  const first = (name: string): string => fields.find((field) => field.name === name)?.value ?? '';
  const mode = MODES.find((each) => each === first('mode'));
  const mx = fields.filter(({ name }) => name === 'mx').map(({ value }) => value.toLowerCase());
  const isWhole = first('version') === 'STSv1' && MAX_AGE.test(first('max_age')) && (mx.length > 0 || mode === 'none');
  if (mode === undefined || !isWhole || !mx.every((pattern) => MX.test(pattern))) return null;
  return { mode, mx, maxAgeSeconds: Math.min(Number(first('max_age')), MAX_AGE_SECONDS_MAX) };
};

const afterFirstLabel = (host: string): string => host.slice(host.indexOf('.') + 1);

/**
 * True if a host matches the policy: `*.example.com` matches `mx.example.com`, but not `a.b.example.com` (RFC 8461
 * §4.1).
 */
export const mxMatches = ({ mx }: Pick<StsPolicy, 'mx'>, host: string): boolean => {
  const plain = host.toLowerCase().replace(/\.$/, '');
  return mx.some((pattern) =>
    pattern.startsWith('*.') ? plain.includes('.') && afterFirstLabel(plain) === pattern.slice(2) : plain === pattern,
  );
};

interface FetchStsPolicyOptions {
  /** Lookup for policy hosts. Must never return an address in this network. */
  readonly lookup: LookupFunction;
  /** Default: 443. */
  readonly port?: number;
  /** PEM. Default: the authorities that the platform trusts. */
  readonly ca?: string;
  readonly timeoutMs?: number;
}

interface FetchStsPolicy {
  /** The text of the domain's policy; null if it is unavailable. Never fails. */
  fetch(domain: string): Promise<string | null>;
  close(): void;
}

/** Proposed by RFC 8461 §3.3. Policies have less than 1 kB. */
const POLICY_BYTES_MAX = 64 * 1024;
/**
 * A message waits for the policy once. RFC 8461 §3.3 proposes a minute, which delays mail if the policy host is dead.
 */
const TIMEOUT_MS = 10_000;
/**
 * Concurrent fetches, each with a handshake. More take the processor from the mail, fewer make new domains wait for
 * slow ones.
 */
const FETCHES_MAX = 32;
/**
 * Fetches from one registered name. More: its slow hosts delay policies of others. Fewer: policies of many subdomains
 * wait.
 */
const FETCHES_PER_NAME_MAX = 8;
const WAITING_MAX = 1000;
const HTTPS_PORT = 443;
const OK = 200;

const PLAIN_TEXT = /^text\/plain[ \t]*(?:;|$)/i;
/** Names that can be part of a URL without encoding. */
const DOMAIN = /^(?=.{1,240}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+$/;

/**
 * Fetches policies from `https://mta-sts.<domain>/.well-known/mta-sts.txt` (RFC 8461 §3.3). The certificate must be
 * valid. A redirect is not a policy, nor is anything other than plain text.
 */
export const createFetchStsPolicy = (options: FetchStsPolicyOptions): FetchStsPolicy => {
  const { lookup, port = HTTPS_PORT, ca, timeoutMs = TIMEOUT_MS } = options;
  const fetches = createSemaphore({ capacity: FETCHES_MAX, share: FETCHES_PER_NAME_MAX, waitingMax: WAITING_MAX });
  const open = new Set<AbortController>();
  let isClosed = false;

  const get = async (client: Client, signal: AbortSignal): Promise<string | null> => {
    const { statusCode, headers, body } = await client.request({
      method: 'GET',
      path: '/.well-known/mta-sts.txt',
      signal,
      headers: { accept: 'text/plain' },
    });
    const isPolicy = statusCode === OK && PLAIN_TEXT.test(String(headers['content-type']));
    return isPolicy ? await body.text() : null;
  };

  const fetchNow = async (domain: string): Promise<string | null> => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    open.add(controller);
    const client = new Client(`https://mta-sts.${domain}:${port}`, {
      connect: { lookup, timeout: timeoutMs, ...(ca === undefined ? {} : { ca }) },
      maxResponseSize: POLICY_BYTES_MAX,
    });
    try {
      return await get(client, controller.signal);
    } catch {
      return null; // the reason has no further use
    } finally {
      clearTimeout(timer);
      open.delete(controller);
      await client.destroy();
    }
  };

  return {
    fetch: async (domain) => {
      if (!DOMAIN.test(domain)) return null;
      // Too many wait: the policy is unknown.
      const fetchUnlessClosed = async (): Promise<string | null> => (isClosed ? null : fetchNow(domain));
      return fetches.run(fetchUnlessClosed, 1, registeredName(domain)).catch(() => null);
    },
    close: () => {
      isClosed = true;
      for (const controller of open) controller.abort();
    },
  };
};

interface MtaStsOptions {
  readonly resolver: Pick<Resolver, 'txt'>;
  readonly system: Pick<System, 'monotonicMs'>;
  /** The lookup must return only public addresses, since the domain is untrusted. */
  readonly fetch: FetchStsPolicyOptions;
}

export interface MtaSts {
  /** The policy for the domain's mail; null: none. Never fails: an unknown policy is treated as absent. */
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

interface CachedPolicy {
  readonly policy: StsPolicy;
  /** Id from the TXT record. */
  readonly id: string;
  readonly refreshAtMs: number;
  readonly untilMs: number;
}

interface FailedFetch {
  readonly id: string;
  readonly untilMs: number;
}

/**
 * MTA-STS (RFC 8461). Policies are kept in memory for their `max_age`: a known policy stays in force when the domain's
 * record or its policy is unavailable (§5.1). A process that has just started knows none.
 */
export const createMtaSts = ({ resolver, system, fetch: options }: MtaStsOptions): MtaSts => {
  const { fetch, close } = createFetchStsPolicy(options);
  const kept = new LRUCache<string, CachedPolicy>({ maxSize: CACHE_BYTES_MAX });
  const failures = new LRUCache<string, FailedFetch>({ maxSize: CACHE_BYTES_MAX });
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

  const knownOf = (domain: string): CachedPolicy | null => {
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
