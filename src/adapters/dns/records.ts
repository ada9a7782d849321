import type { Answer } from 'dns-packet';
import type { HostAddress, MxRecord, TlsaRecord } from '../../domain/resolver.ts';
import { plainName } from './question.ts';

/** What a record of a type says; null: it is of another type. */
export type ReadRecord<Found> = (record: Answer) => Found | null;

export const readIpv4: ReadRecord<HostAddress> = (record) =>
  record.type === 'A' ? { address: record.data, family: 4 } : null;

export const readIpv6: ReadRecord<HostAddress> = (record) =>
  record.type === 'AAAA' ? { address: record.data, family: 6 } : null;

export const readMx: ReadRecord<MxRecord> = (record) =>
  record.type === 'MX' ? { exchange: plainName(record.data.exchange), preference: record.data.preference ?? 0 } : null;

export const readTxt: ReadRecord<string> = (record) =>
  record.type === 'TXT'
    ? Buffer.concat([record.data].flat().map((string) => Buffer.from(string))).toString('utf8')
    : null;

export const readTlsa: ReadRecord<TlsaRecord> = (record) =>
  record.type === 'TLSA'
    ? {
        ...{ usage: record.data.usage, selector: record.data.selector, matchingType: record.data.matchingType },
        data: record.data.certificate.toString('hex'),
      }
    : null;
