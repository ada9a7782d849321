import { describe, test } from 'vitest';
import { checkRecords, domainRecords } from '../../../src/domain/sending-domain/domain-records.ts';
import type { SeenRecord } from '../../../src/domain/sending-domain/events.ts';
import { NOW, specify } from '../../support/specification.ts';

const KEY_HOST = 'ob-r-1._domainkey.example.test';
const seen = (kind: SeenRecord['kind'], state: SeenRecord['state'], host = 'example.test'): SeenRecord => ({
  kind,
  host,
  state,
  problem: null,
  seen: [],
});
const RECORDS = [seen('dkim', 'invalid', 'other'), seen('dkim', 'valid', KEY_HOST), seen('spf', 'missing')];
const check = { domainId: 'dom_1', records: RECORDS, dkimHost: KEY_HOST, isAsked: false, now: NOW };
const noted = {
  type: 'DomainRecordsChecked' as const,
  data: {
    domainId: 'dom_1',
    spf: 'missing' as const,
    dkim: 'valid' as const,
    dmarc: 'unknown' as const,
    records: RECORDS,
  },
};
const later = (seconds: number): string => new Date(Date.parse(NOW) + seconds * 1000).toISOString();

describe('the DNS records of a domain', () => {
  const { given } = specify(domainRecords);

  test('are recorded with the state of the key that counts', () => {
    const { when } = given([]);
    when((state) => checkRecords(state, check)).thenEvents(noted);
    when((state) => checkRecords(state, { ...check, dkimHost: null })).thenState({ dkim: 'unknown', checkedAt: NOW });
  });
  test('are not recorded twice', () => {
    const { when } = given([noted]);
    when((state) => checkRecords(state, { ...check, now: later(86_400) })).thenNothing();
    when((state) => checkRecords(state, { ...check, records: [seen('spf', 'valid')] })).thenState({ spf: 'valid' });
  });
  test('are no news in another order', () => {
    const two = (values: string[]): SeenRecord[] => [{ ...seen('spf', 'invalid'), seen: values }];
    const [first] = checkRecords(given([]).state, { ...check, records: two(['b', 'a']) });
    given(first === undefined ? [] : [first])
      .when((state) => checkRecords(state, { ...check, records: two(['a', 'b']) }))
      .thenNothing();
  });
  test('are recorded again on request, at most once a minute', () => {
    const { when } = given([noted]);
    when((state) => checkRecords(state, { ...check, isAsked: true, now: later(59) })).thenNothing();
    when((state) => checkRecords(state, { ...check, isAsked: true, now: later(60) })).thenEvents(noted);
  });
});
