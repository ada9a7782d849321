import type { DetailedPeerCertificate } from 'node:tls';

/** Chains in use have two to four. More costs more signatures to check; fewer does not reach every trust anchor. */
const CERTIFICATES_MAX = 10;

/** The certificates a server has shown (`getPeerCertificate(true)`), its own first, in DER. None: an empty object. */
export const peerChain = (certificate: DetailedPeerCertificate | undefined): readonly Buffer[] => {
  const chain: Buffer[] = [];
  let each = certificate;
  while (each?.raw !== undefined && chain.length < CERTIFICATES_MAX) {
    chain.push(each.raw);
    // What signs itself is its own issuer.
    each = each.issuerCertificate === each ? undefined : each.issuerCertificate;
  }
  return chain;
};
