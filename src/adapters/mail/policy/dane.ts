import type { DnsAnswer, Resolver, TlsaRecord } from '../../../domain/ports/resolver.ts';
import { isUsable } from './tlsa-match.ts';

/** What DANE says of one mail host. */
export type Dane =
  | { readonly kind: 'none' }
  | {
      /** No mail without TLS, and none to a server for which `daneProblem` has a word. */
      readonly kind: 'required';
      /** Usable ones; none: any certificate will do. */
      readonly records: readonly TlsaRecord[];
      /** Where they were found: one of the names that a certificate may be for. */
      readonly baseName: string;
    };

const NONE: Dane = { kind: 'none' };

const isSecure = (answer: DnsAnswer<unknown>): boolean => answer.authenticated && answer.records.length > 0;

/**
 * Whether the host is held to TLSA records, and to which (RFC 7672 §2.2). They are only asked for where the host's
 * addresses are authenticated: name servers without DNSSEC often fail at such a question, which then says nothing. A
 * host that is an alias is looked for under the name at its end first (§2.2.2); an alias that leads out of DNSSEC counts
 * as one without.
 *
 * To be asked only for hosts from an authenticated MX answer (or for a domain without MX): otherwise whoever forged the
 * MX records has chosen the host (§2.2.1).
 * @param mxHost A-labels.
 * @throws {ResolverUnavailable} it is not known: no mail to this host now.
 */
export const daneOf = async (
  resolver: Pick<Resolver, 'addresses' | 'tlsa'>,
  mxHost: string,
  port: number,
): Promise<Dane> => {
  const addresses = await resolver.addresses(mxHost);
  if (!isSecure(addresses)) return NONE;
  for (const baseName of [...addresses.aliases.slice(-1), mxHost]) {
    const tlsa = await resolver.tlsa(`_${port}._tcp.${baseName}`);
    if (isSecure(tlsa)) return { kind: 'required', records: tlsa.records.filter(isUsable), baseName };
  }
  return NONE;
};
