import { X509Certificate } from 'node:crypto';

export interface Climb {
  /** Certificates that may have issued it, or one another; in any order. */
  readonly above: readonly X509Certificate[];
  readonly isAnchor: (der: Buffer) => boolean;
  readonly nowMs: number;
}

/** What cannot be read proves nothing. */
export const readCertificates = (chain: readonly Buffer[]): readonly X509Certificate[] =>
  chain.flatMap((der) => {
    try {
      return [new X509Certificate(der)];
    } catch {
      return [];
    }
  });

export const isInForce = ({ validFrom, validTo }: X509Certificate, nowMs: number): boolean =>
  Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo);

const hasSigned = (issuer: X509Certificate, certificate: X509Certificate): boolean => {
  try {
    return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false; // a key of a kind that is not known here
  }
};

/**
 * Whether a certificate was issued, over any number of others, by one that is a trust anchor. The anchor itself need not
 * sign itself, and nobody else need trust it (RFC 7671 §5.2). Path lengths and name constraints are not looked at: who
 * publishes the record has chosen the authority.
 */
export const leadsToAnchor = (certificate: X509Certificate, { above, isAnchor, nowMs }: Climb): boolean => {
  // Each is reached once, whichever way leads there: a server cannot make this long.
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
