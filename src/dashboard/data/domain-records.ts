import type { SerializedDomain } from '../../http/schemas/domain.ts';

/** Formats DNS records for entry at a DNS provider. */

export type DomainRecord = SerializedDomain['records'][number];

/** A string in a TXT record has at most this many octets (RFC 1035 §3.3). */
const STRING_OCTETS_MAX = 255;
/** Longer: a mistake takes more than an hour to correct. Shorter: more DNS queries. */
const TTL_SECONDS = 3600;

/** Quotes a TXT value and splits it into strings, which receivers concatenate. */
export const inStrings = (value: string): string =>
  (value.match(new RegExp(`.{1,${STRING_OCTETS_MAX}}`, 'g')) ?? [])
    .map((part) => `"${part.replaceAll(/["\\]/g, (sign) => `\\${sign}`)}"`)
    .join(' ');

const line = ({ name, type, value }: DomainRecord): string =>
  `${name}. ${TTL_SECONDS} IN ${type} ${type === 'TXT' ? inStrings(value) : `${value}.`}`;

/** Lines of a zone file (RFC 1035 §5.1). */
export const zoneFile = (records: readonly DomainRecord[]): string => `${records.map(line).join('\n')}\n`;
