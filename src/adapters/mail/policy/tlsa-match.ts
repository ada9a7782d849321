import { hash } from 'node:crypto';
import type { TlsaRecord } from '../../../domain/ports/resolver.ts';
import { certificateKey } from './certificate-key.ts';

/** RFC 7218 §2.1. */
export const USAGE = { trustAnchor: 2, endEntity: 3 };
export const SELECTOR = { certificate: 0, key: 1 };
export const MATCHING = { full: 0, sha256: 1, sha512: 2 };

const HEX_OF_SHA256 = 64;
const HEX_OF_SHA512 = 128;

const isRightLength = ({ matchingType, data }: TlsaRecord): boolean => {
  if (matchingType === MATCHING.sha256) return data.length === HEX_OF_SHA256;
  if (matchingType === MATCHING.sha512) return data.length === HEX_OF_SHA512;
  return matchingType === MATCHING.full && data.length > 0;
};

/** Those that say something which mail servers are held to: PKIX usages say nothing here (RFC 7672 §3.1.3). */
export const isUsable = (record: TlsaRecord): boolean =>
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
export const tlsaMatches = (record: TlsaRecord, der: Buffer): boolean => {
  const bytes = selected(record, der);
  if (bytes === null || !isUsable(record)) return false;
  if (record.matchingType === MATCHING.full) return bytes.toString('hex') === record.data;
  return hash(record.matchingType === MATCHING.sha256 ? 'sha256' : 'sha512', bytes, 'hex') === record.data;
};
