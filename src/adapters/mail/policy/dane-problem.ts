import type { TlsaRecord } from '../../../domain/ports/resolver.ts';
import { MATCHING, SELECTOR, tlsaMatches, USAGE } from './tlsa-match.ts';
import { isInForce, leadsToAnchor, readCertificates } from './trust-anchor.ts';

export interface DanePeer {
  /** Of `daneOf`. */
  readonly records: readonly TlsaRecord[];
  /** DER, the server's own first: `peerChain`. */
  readonly chain: readonly Buffer[];
  /** What the certificate may be for: the domain of the mail, the MX host, the base of the records (RFC 7672 §3.2.2). */
  readonly names: readonly string[];
  readonly nowMs: number;
}

/** Anchors that stand in the DNS as a whole: a server need not send them (RFC 7671 §5.2.1). */
const published = (anchors: readonly TlsaRecord[]): readonly Buffer[] =>
  anchors
    .filter(({ selector, matchingType }) => selector === SELECTOR.certificate && matchingType === MATCHING.full)
    .map(({ data }) => Buffer.from(data, 'hex'));

/** Under a trust anchor, names and dates count; as an end entity's own record they do not (RFC 7672 §3.1.1, §3.1.2). */
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
 * Why the server is not the one that the TLSA records are about (one phrase); null: it is. Without usable records any
 * server is, as long as there is TLS (RFC 7672 §2.2).
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
