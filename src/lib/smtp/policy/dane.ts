import { hash, X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate } from 'node:tls';
import type { DnsAnswer, Resolver, TlsaRecord } from '../dns/resolver.ts';

/** DER tags (X.690 §8.1.2). */
const SEQUENCE = 0x30;
const EXPLICIT_VERSION = 0xa0;
/** Fields before the key: serial number, algorithm, issuer, validity and subject (RFC 5280 §4.1). */
const FIELDS_BEFORE_KEY = 5;

interface Element {
  readonly tag: number;
  /** Offset of its contents. */
  readonly inside: number;
  readonly end: number;
}

/** @throws {RangeError} if there is no element. */
const elementAt = (der: Buffer, at: number): Element => {
  const tag = der.readUInt8(at);
  const first = der.readUInt8(at + 1);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const inside = at + 2 + lengthBytes;
  const length = lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes);
  if (inside + length > der.length) throw new RangeError('an element is longer than the certificate');
  return { tag, inside, end: inside + length };
};

/**
 * The SubjectPublicKeyInfo of a certificate, byte for byte. TLSA records with selector 1 are about these bytes (RFC
 * 6698 §2.1.2), and a key that is parsed and written again may have others.
 * @throws {RangeError} if it is not a certificate.
 */
export const certificateKey = (der: Buffer): Buffer => {
  const signed = elementAt(der, elementAt(der, 0).inside);
  const version = elementAt(der, signed.inside);
  let at = version.tag === EXPLICIT_VERSION ? version.end : signed.inside;
  for (let field = 0; field < FIELDS_BEFORE_KEY; field += 1) at = elementAt(der, at).end;
  const key = elementAt(der, at);
  if (key.tag !== SEQUENCE) throw new RangeError('there is no key where the key should be');
  return der.subarray(at, key.end);
};

/** RFC 7218 §2.1. */
export const USAGE = { trustAnchor: 2, endEntity: 3 };
const SELECTOR = { certificate: 0, key: 1 };
const MATCHING = { full: 0, sha256: 1, sha512: 2 };

const HEX_OF_SHA256 = 64;
const HEX_OF_SHA512 = 128;

const isRightLength = ({ matchingType, data }: TlsaRecord): boolean => {
  if (matchingType === MATCHING.sha256) return data.length === HEX_OF_SHA256;
  if (matchingType === MATCHING.sha512) return data.length === HEX_OF_SHA512;
  return matchingType === MATCHING.full && data.length > 0;
};

/** True for records that apply to mail servers. PKIX usages have no meaning here (RFC 7672 §3.1.3). */
const isUsable = (record: TlsaRecord): boolean =>
  (record.usage === USAGE.trustAnchor || record.usage === USAGE.endEntity) &&
  (record.selector === SELECTOR.certificate || record.selector === SELECTOR.key) &&
  isRightLength(record);

const selected = ({ selector }: TlsaRecord, der: Buffer): Buffer | null => {
  try {
    return selector === SELECTOR.key ? certificateKey(der) : der;
  } catch {
    return null;
  }
};

/** Whether a record is about a certificate (RFC 6698 §2.1). @param der the certificate. */
const tlsaMatches = (record: TlsaRecord, der: Buffer): boolean => {
  const bytes = selected(record, der);
  if (bytes === null || !isUsable(record)) return false;
  if (record.matchingType === MATCHING.full) return bytes.toString('hex') === record.data;
  return hash(record.matchingType === MATCHING.sha256 ? 'sha256' : 'sha512', bytes, 'hex') === record.data;
};

interface Climb {
  /** Certificates that may have issued it, or each other, in any order. */
  readonly above: readonly X509Certificate[];
  readonly isAnchor: (der: Buffer) => boolean;
  readonly nowMs: number;
}

/** Unreadable certificates are skipped: they prove nothing. */
const readCertificates = (chain: readonly Buffer[]): readonly X509Certificate[] =>
  chain.flatMap((der) => {
    try {
      return [new X509Certificate(der)];
    } catch {
      return [];
    }
  });

const isInForce = ({ validFrom, validTo }: X509Certificate, nowMs: number): boolean =>
  Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo);

const hasSigned = (issuer: X509Certificate, certificate: X509Certificate): boolean => {
  try {
    return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false; // a key of an unknown kind
  }
};

/**
 * True if a certificate was issued, through any number of others, by a trust anchor. The anchor itself need not be
 * self-signed or trusted by anyone else (RFC 7671 §5.2). Path lengths and name constraints are not checked: the
 * publisher of the record has chosen the authority.
 */
const leadsToAnchor = (certificate: X509Certificate, { above, isAnchor, nowMs }: Climb): boolean => {
  // Each certificate is reached once, by whatever path, so a server cannot make this loop long.
  const left = new Set(above.filter((each) => isInForce(each, nowMs)));
  const reached = [certificate];
  for (const below of reached) {
    const issuers = [...left].filter((each) => hasSigned(each, below));
    if (issuers.some(({ raw }) => isAnchor(raw))) return true;
    for (const issuer of issuers) left.delete(issuer);
    reached.push(...issuers);
  }
  return false;
};

/**
 * Chains in use have two to four certificates. More cost more signature checks; fewer do not reach every trust anchor.
 */
const CERTIFICATES_MAX = 10;

/**
 * The certificates presented by a server (`getPeerCertificate(true)`), its own first, in DER. Empty if it presented
 * none.
 */
export const peerChain = (certificate: DetailedPeerCertificate | undefined): readonly Buffer[] => {
  const chain: Buffer[] = [];
  let each = certificate;
  while (each?.raw !== undefined && chain.length < CERTIFICATES_MAX) {
    chain.push(each.raw);
    // A self-signed certificate is its own issuer.
    each = each.issuerCertificate === each ? undefined : each.issuerCertificate;
  }
  return chain;
};

interface DanePeer {
  /** Records from `daneOf`. */
  readonly records: readonly TlsaRecord[];
  /** DER, the server's own first: `peerChain`. */
  readonly chain: readonly Buffer[];
  /**
   * Names that the certificate may be for: the domain of the mail, the MX host, the base of the records (RFC 7672
   * §3.2.2).
   */
  readonly names: readonly string[];
  readonly nowMs: number;
}

/** Anchors published in full in the DNS: a server need not send them (RFC 7671 §5.2.1). */
const published = (anchors: readonly TlsaRecord[]): readonly Buffer[] =>
  anchors
    .filter(({ selector, matchingType }) => selector === SELECTOR.certificate && matchingType === MATCHING.full)
    .map(({ data }) => Buffer.from(data, 'hex'));

/** Names and dates matter under a trust anchor, but not for an end-entity record (RFC 7672 §3.1.1, §3.1.2). */
const isUnderAnchor = (anchors: readonly TlsaRecord[], { chain, names, nowMs }: DanePeer): boolean => {
  const [own, ...above] = readCertificates(chain);
  if (own === undefined || anchors.length === 0) return false;
  const isAnchor = (der: Buffer): boolean => anchors.some((record) => tlsaMatches(record, der));
  return (
    isInForce(own, nowMs) &&
    names.some((name) => own.checkHost(name) !== undefined) &&
    leadsToAnchor(own, { above: [...above, ...readCertificates(published(anchors))], isAnchor, nowMs })
  );
};

/**
 * Why the server does not match the TLSA records, as a phrase; null if it does. Without usable records any server
 * matches, as long as it has TLS (RFC 7672 §2.2).
 */
export const daneProblem = (peer: DanePeer): string | null => {
  const { records, chain } = peer;
  if (records.length === 0) return null;
  const [own] = chain;
  if (own === undefined) return 'the server showed no certificate';
  const ownRecords = records.filter(({ usage }) => usage === USAGE.endEntity);
  if (ownRecords.some((record) => tlsaMatches(record, own))) return null;
  const anchors = records.filter(({ usage }) => usage === USAGE.trustAnchor);
  return isUnderAnchor(anchors, peer) ? null : 'the certificate of the server matches none of the TLSA records';
};

/** DANE requirements of one mail host. */
export type Dane =
  | { readonly kind: 'none' }
  | {
      /** No mail without TLS, nor to a server that has a `daneProblem`. */
      readonly kind: 'required';
      /** Usable records. Empty: any certificate is accepted. */
      readonly records: readonly TlsaRecord[];
      /** Name at which the records were found: one of the names that a certificate may be for. */
      readonly baseName: string;
    };

const NONE: Dane = { kind: 'none' };

const isSecure = (answer: DnsAnswer<unknown>): boolean => answer.authenticated && answer.records.length > 0;

/**
 * Which TLSA records the host must match, if any (RFC 7672 §2.2). They are looked up only if the host's addresses are
 * authenticated: name servers without DNSSEC often fail such a query, and that failure means nothing. For a host that
 * is an alias, the name at its end is tried first (§2.2.2). An alias that leads out of DNSSEC is treated as a host
 * without it.
 *
 * Call this only for hosts from an authenticated MX answer (or for a domain without MX): otherwise a forger of the MX
 * records would have chosen the host (§2.2.1).
 * @param mxHost A-labels.
 * @throws {ResolverUnavailable} if the result is unknown: send no mail to this host now.
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
