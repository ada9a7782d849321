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

/** undefined: any address; `no_address`: none of this family exists; `warming_up`: all have used their quota of the day. */
type Source = { readonly address: string | undefined } | { readonly problem: 'no_address' | 'warming_up' };

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

  return async (mail: OutgoingMail, domain: string, family: 4 | 6): Promise<Source> => {
    const pool = poolOf(mail);
    if (pool.length === 0) return { address: undefined };
    const candidates = pool.filter((each) => isIP(each) === family);
    const first = hash(domain) % candidates.length;
    const [preferred, ...others] = [...candidates.slice(first), ...candidates.slice(0, first)];
    if (preferred === undefined) return { problem: 'no_address' };
    const request = { domain, recipients: mail.envelope.to.length };
    const address = await firstWithQuota([preferred, ...others], request);
    if (address !== undefined) return { address };
    if (mail.stream === 'bulk') return { problem: 'warming_up' };
    await quotas?.reserve({ ...request, source: preferred, exemptFromCap: true });
    return { address: preferred };
  };
};

const isWarmingUp = (source: Source): boolean => 'problem' in source && source.problem === 'warming_up';

type SourceAddresses = ReturnType<typeof createSourceAddresses>;
type SourceFor = (family: 4 | 6) => Promise<Source>;

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
  readonly sourceOf: SourceAddresses;
  readonly quotas?: Pick<SourceQuotas, 'retryAfterSeconds'> | undefined;
  readonly unreachable: UnreachableAddresses;
  readonly port: number;
}

type Route = Extract<MxRoute, { kind: 'hosts' }>;

/** More hosts than any real domain has. A longer list would only cost look-ups. */
const HOSTS_MAX = 10;
/** More leave no time for the next server of a domain whose first is dead, fewer miss one that works. */
const ADDRESSES_PER_HOST_MAX = 3;

const targetOf = (host: string, { address }: HostAddress, port: number, tls: SessionTarget['tls']): SessionTarget => ({
  host,
  address,
  port,
  implicitTls: false,
  credentials: null,
  tls,
});

/** Finds the targets of a domain, step by step: later servers are looked up only when they are needed. */
export const createDeliveryTargets = ({
  addressesOf,
  security,
  sourceOf,
  quotas,
  unreachable,
  port,
}: DeliveryTargetsOptions) => {
  const deliveryTargetTo = (
    host: string,
    found: HostAddress,
    { tls, key }: UsableSecurity,
    localAddress: string | undefined,
  ): DeliveryTarget => {
    const target = targetOf(host, found, port, tls);
    return {
      key: `${host} ${found.address} ${localAddress ?? ''} ${key}`,
      target: localAddress === undefined ? target : { ...target, localAddress },
    };
  };

  const stepsTo = async (sourceFor: SourceFor, host: string, held: HostSecurity): Promise<readonly Step[]> => {
    if ('problem' in held) return [{ host, problem: held.problem }];
    const found = await addressesOf(host);
    if ('problem' in found) return [{ host, problem: found.problem }];
    const sources = await Promise.all(found.addresses.map(({ family }) => sourceFor(family)));
    const deliveryTargets = found.addresses.flatMap((address, index) => {
      const source = sources[index];
      return source === undefined || 'problem' in source ? [] : [deliveryTargetTo(host, address, held, source.address)];
    });
    if (deliveryTargets.length > 0) return deliveryTargets.slice(0, ADDRESSES_PER_HOST_MAX);
    return [sources.some(isWarmingUp) ? warmingUp(host) : noSource(host)];
  };

  const noSource = (host: string): Step => ({
    host,
    problem: noReply(`${host} has no address of a family that SOURCE_ADDRESSES or SOURCE_POOLS has for this mail`),
    isOurs: true,
  });

  const warmingUp = (host: string): Step => ({
    host,
    problem: {
      code: 0,
      enhanced: SOURCES_WARMING_UP,
      text: 'each address that may send this mail is warming up and has used its quota of the day',
    },
    isOurs: true,
    ...(quotas === undefined ? {} : { retryAfterSeconds: quotas.retryAfterSeconds() }),
  });

  const isAvoided = (step: Step): boolean => 'key' in step && unreachable.isAvoided(peerOf(step.target));

  return async function* deliveryTargetsOf(
    mail: OutgoingMail,
    domain: string,
    { hosts, authenticated }: Route,
  ): AsyncGenerator<Step> {
    const securityOf = await security.ofDomain(domain, authenticated);
    const sources = new Map<4 | 6, Promise<Source>>();
    // Quota is reserved once for all servers of the domain.
    const sourceFor: SourceFor = (family) => {
      const source = sources.get(family) ?? sourceOf(mail, domain, family);
      sources.set(family, source);
      return source;
    };
    const avoided: Step[] = [];
    for (const { host } of hosts.slice(0, HOSTS_MAX)) {
      const steps = await stepsTo(sourceFor, host, await securityOf(host));
      avoided.push(...steps.filter(isAvoided));
      yield* steps.filter((step) => !isAvoided(step));
    }
    yield* avoided;
  };
};

type UsableSecurity = Exclude<HostSecurity, { readonly problem: SmtpReply }>;
export type DeliveryTargetsOf = ReturnType<typeof createDeliveryTargets>;
