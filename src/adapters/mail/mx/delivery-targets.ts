import { isIP } from 'node:net';
import { type SourcePools, sourcePoolOf } from '../../../domain/message/source-pools.ts';
import { type OutgoingMail, SOURCES_WARMING_UP, type SourceQuotas } from '../../../domain/ports/mail.ts';
import type { System } from '../../../lib/async/async.ts';
import { domainOf } from '../../../lib/mime/mime.ts';
import {
  type HostAddress,
  type HostSecurity,
  noReply,
  type SessionTarget,
  type SmtpConnectFailed,
  type SmtpReply,
  type TransportSecurity,
} from '../../../lib/smtp/smtp.ts';
import type { createMxAddresses, MxRoute } from './routes.ts';
import type { DeliveryTarget } from './session-pools.ts';

/** FNV-1a: distributes names evenly and deterministically. */
const hash = (text: string): number => {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(text)) state = Math.imul(state ^ byte, 0x01000193) >>> 0;
  return state;
};

export interface SourceAddressesOptions {
  /** IPs of mail that no pool is for; empty: the machine chooses. */
  readonly addresses: readonly string[];
  readonly pools: SourcePools;
  /** Absent: no address is warming up. */
  readonly quotas?: SourceQuotas | undefined;
}

/** Our source addresses for one copy of a message, by address family. */
interface Sources {
  /** False if mail cannot leave over this family. */
  has(family: 4 | 6): boolean;
  /** The address that sends unless its quota is used up; undefined: the machine chooses. */
  preferred(family: 4 | 6): string | undefined;
  /**
   * Reserves quota, once for all servers of the domain.
   * @returns undefined: the machine chooses; null: all addresses are warming up and have used their quota of the day.
   */
  reserve(family: 4 | 6): Promise<string | undefined | null>;
}

/**
 * Chooses our source address for mail to a domain. For a pool it is always the same, because greylisting and reputation
 * depend on it, unless that address is warming up and has used its quota of the day: then the next one sends. If none has
 * quota left, bulk mail waits. Other mail does not: a password reset must not wait for tomorrow.
 */
export const createSourceAddresses = ({ addresses, pools, quotas }: SourceAddressesOptions) => {
  const firstWithQuota = async (
    candidates: readonly string[],
    request: { readonly domain: string; readonly recipients: number },
  ): Promise<string | undefined> => {
    if (quotas === undefined) return candidates[0];
    for (const source of candidates) {
      if (await quotas.reserve({ ...request, source, exemptFromCap: false })) return source;
    }
    return undefined;
  };

  const poolOf = ({ body, organizationId, stream = 'transactional' }: OutgoingMail): readonly string[] =>
    sourcePoolOf(pools, { domain: domainOf(body.from.address), organizationId, stream }) ?? addresses;

  const reserve = async (
    { envelope, stream }: OutgoingMail,
    domain: string,
    [preferred, ...others]: readonly string[],
  ): Promise<string | undefined | null> => {
    if (preferred === undefined) return undefined;
    const request = { domain, recipients: envelope.to.length };
    const address = await firstWithQuota([preferred, ...others], request);
    if (address !== undefined) return address;
    if (stream === 'bulk') return null;
    await quotas?.reserve({ ...request, source: preferred, exemptFromCap: true });
    return preferred;
  };

  return (mail: OutgoingMail, domain: string): Sources => {
    const pool = poolOf(mail);
    const reserved = new Map<4 | 6, ReturnType<Sources['reserve']>>();

    const inOrder = (family: 4 | 6): readonly string[] => {
      const candidates = pool.filter((each) => isIP(each) === family);
      const first = hash(domain) % candidates.length;
      return [...candidates.slice(first), ...candidates.slice(0, first)];
    };
    return {
      has: (family) => pool.length === 0 || inOrder(family).length > 0,
      preferred: (family) => inOrder(family)[0],
      reserve: (family) => {
        const address = reserved.get(family) ?? reserve(mail, domain, inOrder(family));
        reserved.set(family, address);
        return address;
      },
    };
  };
};

/**
 * How long an address is considered dead, and tried after all others of its domain. Longer keeps mail off the better
 * server, shorter makes more of it wait for the time-out.
 */
const AVOIDED_MS = 300_000;
/**
 * How long a failed address is not retried at all. Otherwise a thousand messages for a dead server would wait one after
 * the other.
 */
const FAILED_MS = 5_000;
/** Tracked addresses. If more are dead, the one that died first is tried again. */
const ADDRESSES_MAX = 10_000;

interface Failure {
  readonly atMs: number;
  readonly error: SmtpConnectFailed;
}

/** A server may answer one of our addresses and not another. */
export const peerOf = ({ host, address = host, localAddress = '' }: SessionTarget): string =>
  `${address} ${localAddress}`;

/** Tracks addresses that did not answer. */
export const createUnreachableAddresses = (system: Pick<System, 'monotonicMs'>) => {
  /** Failures in order of time. */
  const failures = new Map<string, Failure>();

  const within = (address: string, ms: number): SmtpConnectFailed | null => {
    const failure = failures.get(address);
    return failure !== undefined && system.monotonicMs() - failure.atMs < ms ? failure.error : null;
  };

  return {
    add: (address: string, error: SmtpConnectFailed): void => {
      failures.delete(address);
      failures.set(address, { atMs: system.monotonicMs(), error });
      for (const oldest of failures.keys()) {
        if (failures.size <= ADDRESSES_MAX) break;
        failures.delete(oldest);
      }
    },
    answers: (address: string): void => {
      failures.delete(address);
    },
    isAvoided: (address: string): boolean => within(address, AVOIDED_MS) !== null,
    /** The error, if the address failed very recently. */
    justFailed: (address: string): SmtpConnectFailed | null => within(address, FAILED_MS),
  };
};

export type UnreachableAddresses = ReturnType<typeof createUnreachableAddresses>;

/** Next step towards a domain: an address to try, or a server that cannot be tried. */
export type Step =
  | DeliveryTarget
  | {
      readonly host: string;
      readonly problem: SmtpReply;
      /** True if the domain is not to blame. */
      readonly isOurs?: true;
      /** Absent: the retry schedule applies. */
      readonly retryAfterSeconds?: number;
    };

export interface DeliveryTargetsOptions {
  readonly addressesOf: ReturnType<typeof createMxAddresses>;
  readonly security: TransportSecurity;
  readonly sourcesOf: ReturnType<typeof createSourceAddresses>;
  readonly quotas?: Pick<SourceQuotas, 'retryAfterSeconds'> | undefined;
  readonly unreachable: UnreachableAddresses;
  readonly port: number;
}

type Route = Extract<MxRoute, { kind: 'hosts' }>;
type Problem = Exclude<Step, DeliveryTarget>;
type UsableSecurity = Exclude<HostSecurity, { readonly problem: SmtpReply }>;

/** An address of a host, before our source address is chosen. */
interface Candidate {
  readonly host: string;
  readonly found: HostAddress;
  readonly security: UsableSecurity;
}

/** More hosts than any real domain has. A longer list would only cost look-ups. */
const HOSTS_MAX = 10;
/** More leave no time for the next server of a domain whose first is dead, fewer miss one that works. */
const ADDRESSES_PER_HOST_MAX = 3;

const noSource = (host: string): Problem => ({
  host,
  problem: noReply(`${host} has no address of a family that SOURCE_ADDRESSES or SOURCE_POOLS has for this mail`),
  isOurs: true,
});

/** Finds the targets of a domain, step by step: later servers are looked up only when they are needed. */
export const createDeliveryTargets = ({
  addressesOf,
  security,
  sourcesOf,
  quotas,
  unreachable,
  port,
}: DeliveryTargetsOptions) => {
  const deliveryTargetTo = (
    { host, found: { address }, security: { tls, key } }: Candidate,
    localAddress: string | undefined,
  ): DeliveryTarget => ({
    key: `${host} ${address} ${localAddress ?? ''} ${key}`,
    target: {
      host,
      address,
      port,
      implicitTls: false,
      credentials: null,
      tls,
      ...(localAddress !== undefined && { localAddress }),
    },
  });

  const candidatesOf = async (
    host: string,
    held: HostSecurity,
    sources: Sources,
  ): Promise<readonly (Candidate | Problem)[]> => {
    if ('problem' in held) return [{ host, problem: held.problem }];
    const known = await addressesOf(host);
    if ('problem' in known) return [{ host, problem: known.problem }];
    const usable = known.addresses.filter(({ family }) => sources.has(family)).slice(0, ADDRESSES_PER_HOST_MAX);
    return usable.length === 0 ? [noSource(host)] : usable.map((found) => ({ host, found, security: held }));
  };

  const warmingUp = (host: string): Problem => ({
    host,
    problem: {
      code: 0,
      enhanced: SOURCES_WARMING_UP,
      text: 'each address that may send this mail is warming up and has used its quota of the day',
    },
    isOurs: true,
    ...(quotas === undefined ? {} : { retryAfterSeconds: quotas.retryAfterSeconds() }),
  });

  /** Addresses that did not answer lately come last. */
  async function* allCandidates(
    sources: Sources,
    domain: string,
    { hosts, authenticated }: Route,
  ): AsyncGenerator<Candidate | Problem> {
    const securityOf = await security.ofDomain(domain, authenticated);
    const isAvoided = (one: Candidate | Problem): boolean =>
      'found' in one &&
      unreachable.isAvoided(peerOf(deliveryTargetTo(one, sources.preferred(one.found.family)).target));
    const avoided: (Candidate | Problem)[] = [];
    for (const { host } of hosts.slice(0, HOSTS_MAX)) {
      const candidates = await candidatesOf(host, await securityOf(host), sources);
      avoided.push(...candidates.filter(isAvoided));
      yield* candidates.filter((one) => !isAvoided(one));
    }
    yield* avoided;
  }

  /** Quota is reserved when an address is tried: mail that leaves over IPv6 uses no quota of an IPv4 address. */
  return async function* deliveryTargetsOf(mail: OutgoingMail, domain: string, route: Route): AsyncGenerator<Step> {
    const sources = sourcesOf(mail, domain);
    const stepTo = async (candidate: Candidate | Problem): Promise<Step> => {
      if ('problem' in candidate) return candidate;
      const localAddress = await sources.reserve(candidate.found.family);
      return localAddress === null ? warmingUp(candidate.host) : deliveryTargetTo(candidate, localAddress);
    };
    for await (const candidate of allCandidates(sources, domain, route)) yield stepTo(candidate);
  };
};

export type DeliveryTargetsOf = ReturnType<typeof createDeliveryTargets>;
