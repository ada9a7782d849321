import { networkInterfaces } from 'node:os';
import { LRUCache } from 'lru-cache';
import { ownDestination } from '../../../domain/destination/suspension.ts';
import type { System } from '../../../lib/async/async.ts';
import {
  type DnsAnswer,
  type HostAddress,
  type MxRecord,
  noReply,
  type Resolver,
  ResolverUnavailable,
  registeredName,
  type SmtpReply,
} from '../../../lib/smtp/smtp.ts';
import { addressRange } from '../../webhook-target/guarded-lookup.ts';

const BYTES = 4;

/** A copy in random order. RFC 5321 §5.1 requires it for servers of equal preference, to share the load among them. */
const inRandomOrder = <Item>({ randomBytes }: Pick<System, 'randomBytes'>, items: readonly Item[]): Item[] => {
  if (items.length < 2) return [...items];
  const chances = Buffer.from(randomBytes(items.length * BYTES));
  return items
    .map((item, index) => ({ item, chance: chances.readUInt32LE(index * BYTES) }))
    .sort((one, other) => one.chance - other.chance)
    .map(({ item }) => item);
};

/** One server of a domain. */
interface MailHost {
  readonly host: string;
  /** Lower is tried first. */
  readonly preference: number;
}

/** Hosts for a domain's mail, or the reason for having none. */
export type MxRoute =
  | {
      readonly kind: 'hosts';
      /** Hosts in the order in which to try them. */
      readonly hosts: readonly MailHost[];
      /** By DNSSEC, so that DNS answers about these hosts can be trusted (RFC 7672 §2.2). */
      readonly authenticated: boolean;
    }
  | {
      readonly kind: 'nowhere';
      readonly outcome: 'bounced' | 'deferred';
      /** RFC 3463. */
      readonly enhanced: string;
      readonly text: string;
    };

interface MxRoutesOptions {
  readonly resolver: Pick<Resolver, 'mx' | 'addresses'>;
  readonly system: Pick<System, 'randomBytes'>;
  /** This service's own name. A route that leads to it is a loop. */
  readonly ehloName: string;
}

const unroutable = (outcome: 'bounced' | 'deferred', enhanced: string, text: string): MxRoute => ({
  kind: 'nowhere',
  outcome,
  enhanced,
  text,
});

/** RFC 7505 §4.1. */
const NULL_MX = unroutable('bounced', '5.1.10', 'the domain accepts no mail (null MX)');
const NO_SUCH_DOMAIN = unroutable('bounced', '5.1.2', 'the domain does not exist');
const NO_SERVER = unroutable('bounced', '5.1.2', 'the domain has neither a mail server nor an address');
/** RFC 3463 §3.5 X.4.6: an error of the domain or of our setup, not of the recipient. */
const LOOP = unroutable('deferred', '4.4.6', 'the domain names this service as its own mail server');

const NO_HOSTS = unroutable('deferred', '4.4.4', 'the MX records of the domain do not hold host names');

/** DNS names may contain any bytes. These are shown to people, stored and used in the certificate check. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
const isHosted = ({ exchange }: MxRecord): boolean => HOST_NAME.test(exchange);

/** RFC 5321 §5.1: a host that is itself in the list delivers only to more preferred hosts, or mail would loop. */
const beforeUs = (records: readonly MxRecord[], ehloName: string): readonly MxRecord[] => {
  const ours = records.filter(({ exchange }) => exchange === ehloName);
  if (ours.length === 0) return records;
  return records.filter(({ preference }) => ours.every((own) => preference < own.preference));
};

/** Finds the mail servers of domains (RFC 5321 §5.1). Answers are cached by the resolver. */
export const createMxRoutes = ({ resolver, system, ehloName }: MxRoutesOptions) => {
  const ownName = ehloName.toLowerCase();

  const byRecords = ({ records, authenticated }: DnsAnswer<MxRecord>): MxRoute => {
    const named = records.filter(({ exchange }) => exchange !== '');
    if (named.length === 0) return NULL_MX;
    const hosted = named.filter(isHosted);
    if (hosted.length === 0) return NO_HOSTS;
    const usable = beforeUs(hosted, ownName);
    if (usable.length === 0) return LOOP;
    // The sort is stable: hosts of equal preference stay in random order.
    const ordered = inRandomOrder(system, usable).sort((one, other) => one.preference - other.preference);
    const hosts = ordered.map(({ exchange, preference }) => ({ host: exchange, preference }));
    return { kind: 'hosts', hosts, authenticated };
  };

  /** A domain without MX records is its own mail server, if it has an address. */
  const implicit = async (domain: string, authenticated: boolean): Promise<MxRoute> => {
    const { records } = await resolver.addresses(domain);
    if (records.length === 0) return NO_SERVER;
    return domain === ownName ? LOOP : { kind: 'hosts', hosts: [{ host: domain, preference: 0 }], authenticated };
  };

  const lookUp = async (domain: string): Promise<MxRoute> => {
    const answer = await resolver.mx(domain);
    if (answer.records.length > 0) return byRecords(answer);
    return answer.exists ? implicit(domain, answer.authenticated) : NO_SUCH_DOMAIN;
  };

  /** @param domain A-labels, lower case. Never throws because of missing or bad DNS answers. */
  const routeOf = async (domain: string): Promise<MxRoute> => {
    try {
      return await lookUp(domain);
    } catch (error) {
      if (!(error instanceof ResolverUnavailable)) throw error;
      return unroutable('deferred', '4.4.3', `the mail servers of the domain cannot be looked up: ${error.message}`);
    }
  };

  return { routeOf };
};

export type MxRoutes = ReturnType<typeof createMxRoutes>;

interface MxAddressesOptions {
  readonly resolver: Pick<Resolver, 'addresses'>;
  readonly system: Pick<System, 'randomBytes' | 'monotonicMs'>;
  /** Servers on this machine and in private networks are allowed too. */
  readonly allowPrivate: boolean;
}

/** Addresses of a host, in the order in which to try them, or the reason for having none. */
type MxAddresses = { readonly addresses: readonly HostAddress[] } | { readonly problem: SmtpReply };

/** Ranges that a private network may use. A server cannot be in the others (multicast, reserved, unspecified). */
const PRIVATE = new Set(['private', 'uniqueLocal', 'loopback', 'linkLocal', 'carrierGradeNat']);

const GLOBAL_RANGES = new Set(['unicast', 'uniqueLocal']);

/** Asking the system costs 200 us. Changes are noticed this late. */
const REMEMBERED_MS = 30_000;

/** An address that other networks can reply to. Without one, trying IPv6 only costs time. */
const findIpv6 = (): boolean =>
  Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .some(({ family, internal, address }) => {
      return family === 'IPv6' && !internal && GLOBAL_RANGES.has(addressRange(address) ?? '');
    });

const createHasIpv6 = ({ monotonicMs }: Pick<System, 'monotonicMs'>): (() => boolean) => {
  let known = { has: false, untilMs: Number.NEGATIVE_INFINITY };
  return () => {
    const nowMs = monotonicMs();
    if (nowMs >= known.untilMs) known = { has: findIpv6(), untilMs: nowMs + REMEMBERED_MS };
    return known.has;
  };
};

/** Alternates between both lists, so that a family that does not work costs one try. */
const inTurn = <Item>(first: readonly Item[], second: readonly Item[]): Item[] =>
  Array.from({ length: Math.max(first.length, second.length) }, (_, index) => [
    ...first.slice(index, index + 1),
    ...second.slice(index, index + 1),
  ]).flat();

/** Finds addresses of mail servers that mail may be sent to. */
export const createMxAddresses = ({ resolver, system, allowPrivate }: MxAddressesOptions) => {
  const hasIpv6 = createHasIpv6(system);
  /** Parsing an address costs 5 us. The resolver returns the same objects until it asks again. */
  const judged = new WeakMap<HostAddress, boolean>();
  const judge = ({ address }: HostAddress): boolean => {
    const range = addressRange(address);
    return range === 'unicast' || (allowPrivate && range !== null && PRIVATE.has(range));
  };
  const mayReach = (found: HostAddress): boolean => {
    const known = judged.get(found) ?? judge(found);
    judged.set(found, known);
    return known;
  };

  const inOrder = (found: readonly HostAddress[]): readonly HostAddress[] => {
    const shuffled = inRandomOrder(system, found);
    const six = shuffled.filter(({ family }) => family === 6);
    const four = shuffled.filter(({ family }) => family === 4);
    if (six.length === 0 || four.length === 0) return shuffled;
    return hasIpv6() ? inTurn(six, four) : [...four, ...six];
  };

  const lookUp = async (host: string): Promise<MxAddresses> => {
    const { records } = await resolver.addresses(host);
    const allowed = records.filter(mayReach);
    if (allowed.length > 0) return { addresses: inOrder(allowed) };
    if (records.length === 0) return { problem: noReply(`${host} has no address`) };
    return { problem: noReply(`${host} has no public address, and mail is sent to no other`) };
  };

  /** Never throws because of missing or bad DNS answers. */
  return async (host: string): Promise<MxAddresses> => {
    try {
      return await lookUp(host);
    } catch (error) {
      if (!(error instanceof ResolverUnavailable)) throw error;
      return { problem: noReply(`the addresses of ${host} cannot be looked up: ${error.message}`) };
    }
  };
};

interface MailDestinationsOptions {
  readonly routes: Pick<MxRoutes, 'routeOf'>;
  readonly addressesOf: ReturnType<typeof createMxAddresses>;
  readonly system: Pick<System, 'monotonicMs'>;
}

interface CachedProvider {
  readonly provider: Promise<string>;
  readonly untilMs: number;
}

/** Messages for a domain come in bursts, and each query costs 50 µs even if the resolver has the answer cached. */
const PROVIDER_REMEMBERED_MS = 1_000;
/** About 1 MB. */
const REMEMBERED_BYTES_MAX = 1_000_000;
const ENTRY_BYTES = 200;

/** Hosts considered, as many as in an attempt (`delivery-targets.ts`). */
const HOSTS_MAX = 10;

/** Orders equally preferred hosts by name, so that the result is stable. */
const inFixedOrder = (one: MailHost, other: MailHost): number =>
  one.preference - other.preference || (one.host < other.host ? -1 : 1);

/**
 * Chooses the destination queue for the mail of a domain. A domain can name another provider's host in its MX records.
 * A provider is therefore its destination only if a host of that provider would actually be tried first: a host that
 * does not exist, leads into a private network or cannot be looked up keeps the domain out of the provider's queue.
 */
export const createMailDestinations = ({ routes, addressesOf, system }: MailDestinationsOptions) => {
  const known = new LRUCache<string, CachedProvider>({ maxSize: REMEMBERED_BYTES_MAX });

  const hostsOf = async (domain: string): Promise<readonly string[]> => {
    const route = await routes.routeOf(domain);
    if (route.kind === 'nowhere') return [];
    return [...route.hosts]
      .sort(inFixedOrder)
      .slice(0, HOSTS_MAX)
      .map(({ host }) => host);
  };

  const reachable = async (host: string): Promise<readonly string[]> => {
    const found = await addressesOf(host);
    return 'problem' in found ? [] : found.addresses.map(({ address }) => address);
  };

  const lookUp = async (domain: string): Promise<string> => {
    for (const host of await hostsOf(domain)) {
      if ((await reachable(host)).length > 0) return registeredName(host);
    }
    return ownDestination(domain);
  };

  return {
    /**
     * The mailbox provider of the first host that mail can be sent to (`google.com`). Without such a host, the domain
     * itself (`@example.com`). @param domain A-labels, lower case. Never throws because of missing or bad DNS answers.
     */
    providerOf: (domain: string): Promise<string> => {
      const nowMs = system.monotonicMs();
      const last = known.get(domain);
      if (last !== undefined && nowMs < last.untilMs) return last.provider;
      const provider = lookUp(domain);
      known.set(domain, { provider, untilMs: nowMs + PROVIDER_REMEMBERED_MS }, { size: ENTRY_BYTES + domain.length });
      return provider;
    },
    /** All addresses that mail for the domain can be sent to. */
    serversOf: async (domain: string): Promise<readonly string[]> =>
      (await Promise.all((await hostsOf(domain)).map(reachable))).flat(),
  };
};
