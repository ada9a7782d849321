import { describe, expect, test } from 'vitest';
import {
  checkRecords,
  dmarcState,
  domainRecords,
  RECORDS_UNKNOWN,
  spfState,
} from '../../../src/domain/sending-domain/domain-records.ts';
import { specify } from '../../support/specification.ts';

describe('an SPF record', () => {
  test.each([
    ['missing', []],
    ['missing', ['google-site-verification=abc', 'v=spf10 -all', 'spf1 -all']],
    ['valid', ['v=spf1 include:_spf.example.com -all', 'something else']],
    ['valid', ['V=SPF1']],
    ['invalid', ['v=spf1 a -all', 'v=spf1 mx -all']],
  ] as const)('is %s with the texts %j', (state, texts) => {
    expect(spfState(texts)).toBe(state);
  });
});

describe('a DMARC record', () => {
  test.each([
    ['missing', []],
    ['missing', ['p=reject; v=DMARC1']],
    ['valid', ['v=DMARC1; p=none']],
    ['valid', ['v=DMARC1 ; rua=mailto:a@example.com ; p = quarantine;']],
    ['invalid', ['v=DMARC1; rua=mailto:a@example.com']],
    ['invalid', ['v=DMARC1; p=perhaps']],
    ['invalid', ['v=DMARC1; p=none', 'v=DMARC1; p=reject']],
  ] as const)('is %s with the texts %j', (state, texts) => {
    expect(dmarcState(texts)).toBe(state);
  });
});

describe('what the DNS says of a domain', () => {
  const { given } = specify(domainRecords);
  const seen = { domainId: 'dom_1', spf: 'valid', dkim: 'unknown', dmarc: 'missing' } as const;

  test('is noted when it is not what was known', () => {
    given([])
      .when((state) => checkRecords(state, seen))
      .thenEvents({ type: 'DomainRecordsChecked', data: seen });
    given([])
      .when((state) => checkRecords(state, { domainId: 'dom_1', ...RECORDS_UNKNOWN }))
      .thenNothing();
  });
  test('is not noted twice', () => {
    given([{ type: 'DomainRecordsChecked', data: seen }])
      .when((state) => checkRecords(state, seen))
      .thenNothing();
  });
});
