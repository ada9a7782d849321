import { getDomain } from 'tldts';

/** PORT: DNS. Adapters: `lib/smtp/dns/*`. Names are A-labels, compared without regard to case. */

/** Answer of the DNS for one name and one type. */
export interface DnsAnswer<Found> {
  /** Empty: no such records. */
  readonly records: readonly Found[];
  /** false: the name, or the name that it is an alias of, does not exist (NXDOMAIN, RFC 8020, RFC 6604 §3). */
  readonly exists: boolean;
  /** The resolver has validated the whole answer by DNSSEC (the AD flag, RFC 4035 §3.2.3). */
  readonly authenticated: boolean;
  /** Targets of the followed CNAME records, in order. */
  readonly aliases: readonly string[];
}

export interface MxRecord {
  /** Lower case, without a trailing dot; empty: "no mail here" (null MX, RFC 7505). */
  readonly exchange: string;
  /** Lower is tried first (RFC 5321 §5.1). */
  readonly preference: number;
}

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** RFC 6698 §2.1. */
export interface TlsaRecord {
  readonly usage: number;
  readonly selector: number;
  readonly matchingType: number;
  /** Hexadecimal, lower case. */
  readonly data: string;
}

export interface QuestionOptions {
  /** Bypasses the cache, for a caller who has just changed a record. The answer is cached. */
  readonly fresh?: boolean;
}

/** Every question @throws {ResolverUnavailable}. */
export interface Resolver {
  /** TXT records, the strings of each joined (RFC 7208 §3.3). */
  txt(host: string, options?: QuestionOptions): Promise<DnsAnswer<string>>;
  mx(host: string, options?: QuestionOptions): Promise<DnsAnswer<MxRecord>>;
  /**
   * A and AAAA records. `authenticated`: both. If one of the two lookups fails, the records of the other are the
   * answer if there are any.
   */
  addresses(host: string, options?: QuestionOptions): Promise<DnsAnswer<HostAddress>>;
  tlsa(host: string, options?: QuestionOptions): Promise<DnsAnswer<TlsaRecord>>;
}

/** No answer, or one without content (SERVFAIL, time-out): the result is unknown, which differs from "none". */
export class ResolverUnavailable extends Error {
  override readonly name = 'ResolverUnavailable';
}

const plain = (host: string): string => host.toLowerCase().replace(/\.$/, '');

/**
 * The registered name of a host (`google.com` for `aspmx.l.google.com`), by the public suffix list with its private
 * part, which covers names below a provider's name (`dyndns.org`). Without such a part, the host itself.
 * @param host A-labels.
 */
export const registeredName = (host: string): string =>
  getDomain(plain(host), { extractHostname: false, allowPrivateDomains: true }) ?? plain(host);
