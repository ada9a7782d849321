/** PORT: DNS. Adapters: `lib/smtp/dns/*`. Names are A-labels, compared without regard to case. */

/** What the DNS says of one name and one type. */
export interface DnsAnswer<Found> {
  /** Empty: there are none. */
  readonly records: readonly Found[];
  /** false: the name does not exist at all (NXDOMAIN, RFC 8020), or the one that it is an alias of (RFC 6604 §3). */
  readonly exists: boolean;
  /** The resolver that was asked has validated all of it by DNSSEC (the AD flag, RFC 4035 §3.2.3). */
  readonly authenticated: boolean;
  /** Targets of the CNAME records that were followed, in order. */
  readonly aliases: readonly string[];
}

export interface MxRecord {
  /** Lower case, without a dot at its end; empty: "no mail here" (null MX, RFC 7505). */
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
  /** Past what is remembered of earlier answers: for whoever has just changed a record. The answer is remembered. */
  readonly fresh?: boolean;
}

/** Every question @throws {ResolverUnavailable}. */
export interface Resolver {
  /** TXT records, the strings of each joined (RFC 7208 §3.3). */
  txt(host: string, options?: QuestionOptions): Promise<DnsAnswer<string>>;
  mx(host: string, options?: QuestionOptions): Promise<DnsAnswer<MxRecord>>;
  /**
   * A and AAAA records. `authenticated`: both. Where one of the two is not known, those of the other are the answer;
   * unless there are none.
   */
  addresses(host: string, options?: QuestionOptions): Promise<DnsAnswer<HostAddress>>;
  tlsa(host: string, options?: QuestionOptions): Promise<DnsAnswer<TlsaRecord>>;
}

/** No answer, or one that says nothing (SERVFAIL, time-out): nothing is known, which is not the same as "none". */
export class ResolverUnavailable extends Error {
  override readonly name = 'ResolverUnavailable';
}
