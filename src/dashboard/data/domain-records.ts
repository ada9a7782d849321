import type { SerializedDomain } from '../../http/schemas/domain.ts';

/** DNS records as they are entered at a DNS provider. */

export type DomainRecord = SerializedDomain['records'][number];

/** A TXT record holds strings of at most so many octets (RFC 1035 §3.3). */
const STRING_OCTETS_MAX = 255;
/** Long enough to be asked for rarely, short enough to be mended within the hour. */
const TTL_SECONDS = 3600;

/** In quotes, in as many strings as it takes: receivers read them as one. */
export const inStrings = (value: string): string =>
  (value.match(new RegExp(`.{1,${STRING_OCTETS_MAX}}`, 'g')) ?? [])
    .map((part) => `"${part.replaceAll(/["\\]/g, (sign) => `\\${sign}`)}"`)
    .join(' ');

const line = ({ name, type, value }: DomainRecord): string =>
  `${name}. ${TTL_SECONDS} IN ${type} ${type === 'TXT' ? inStrings(value) : `${value}.`}`;

/** Lines of a zone file (RFC 1035 §5.1). */
export const zoneFile = (records: readonly DomainRecord[]): string => `${records.map(line).join('\n')}\n`;
