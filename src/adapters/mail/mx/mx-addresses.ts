import { networkInterfaces } from 'node:os';
import { type HostAddress, type Resolver, ResolverUnavailable } from '../../../domain/ports/resolver.ts';
import type { System } from '../../../domain/ports/system.ts';
import { addressRange } from '../../address-range.ts';
import { noReply, type SmtpReply } from '../smtp-reply.ts';
import { inRandomOrder } from './random-order.ts';

export interface MxAddressesOptions {
  readonly resolver: Pick<Resolver, 'addresses'>;
  readonly system: Pick<System, 'randomBytes' | 'monotonicMs'>;
  /** Servers on this machine and in private networks are taken too. */
  readonly allowPrivate: boolean;
}

/** Of one host: where it can be reached, in the order in which to try; or why nowhere. */
type MxAddresses = { readonly addresses: readonly HostAddress[] } | { readonly problem: SmtpReply };

/** What a network of one's own may have; the rest (multicast, reserved, unspecified) is no place for a server. */
const PRIVATE = new Set(['private', 'uniqueLocal', 'loopback', 'linkLocal', 'carrierGradeNat']);

const GLOBAL_RANGES = new Set(['unicast', 'uniqueLocal']);

/** Asking the system costs 200 us; what has changed is noticed so late. */
const REMEMBERED_MS = 30_000;

/** An address that other networks could answer to: without one, trying IPv6 only costs time. */
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

/** One of each in turn: a family that does not work costs one try. */
const inTurn = <Item>(first: readonly Item[], second: readonly Item[]): Item[] =>
  Array.from({ length: Math.max(first.length, second.length) }, (_, index) => [
    ...first.slice(index, index + 1),
    ...second.slice(index, index + 1),
  ]).flat();

/** Finds the addresses of mail servers that mail may be sent to. */
export const createMxAddresses = ({ resolver, system, allowPrivate }: MxAddressesOptions) => {
  const hasIpv6 = createHasIpv6(system);
  /** Reading an address costs 5 us; the resolver gives the same objects until it asks again. */
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

  /** Never throws for what the DNS says or fails to say. */
  return async (host: string): Promise<MxAddresses> => {
    try {
      return await lookUp(host);
    } catch (error) {
      if (!(error instanceof ResolverUnavailable)) throw error;
      return { problem: noReply(`the addresses of ${host} cannot be looked up: ${error.message}`) };
    }
  };
};
