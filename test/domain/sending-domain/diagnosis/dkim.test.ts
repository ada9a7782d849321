import { describe, expect, test } from 'vitest';
import { diagnoseDkim } from '../../../../src/domain/sending-domain/diagnose.ts';
import type { DkimKey } from '../../../../src/domain/sending-domain/events.ts';
import { dkimValue, inStrings } from '../../../../src/domain/sending-domain/records-to-publish.ts';
import { createInMemoryDkimKeys } from '../../../support/in-memory/dkim-keys.ts';
import { processorMs } from '../../../support/processor-time.ts';
import { type Circumstances, sightingOf } from './sighting-of.ts';

const HOST = 'ob-r-1._domainkey.example.test';
const [rsa, ed] = (await createInMemoryDkimKeys().make()).map(
  ({ algorithm, publicKey }, index): DkimKey => ({ selector: `s${index}`, algorithm, publicKey, secretId: 's' }),
);
if (rsa === undefined || ed === undefined) throw new Error('keys are made in pairs');
const VALUE = dkimValue(rsa);
const P = rsa.publicKey;

const diagnose = (texts: readonly string[] | null, more: Circumstances = {}, key: DkimKey = rsa) =>
  diagnoseDkim(sightingOf(HOST, texts, more), key);

describe('the record of a DKIM key is valid', () => {
  test.each([
    ['as it was given', VALUE],
    ['in another order', `v=DKIM1; p=${P}; k=rsa`],
    ['with other spaces', ` v = DKIM1 ;k= rsa;  p=${P.slice(0, 100)} ${P.slice(100)}\t; `],
    ['without what is the default', `p=${P}`],
    ['with unknown tags', `${VALUE}; n=note; x-y=z`.replace('x-y', 'xy')],
    ['restricted to mail and SHA-256', `v=DKIM1; h=sha1:sha256; s=email; p=${P}`],
  ])('%s', (_how, text) => {
    expect(diagnose([text])).toEqual({ state: 'valid', problem: null });
  });
  test('behind a CNAME that leads to it', () => {
    expect(diagnose([VALUE], { aliases: ['keys.elsewhere.test'] }).state).toBe('valid');
  });
  test('of an Ed25519 key', () => {
    expect(diagnose([`v=DKIM1; k=ed25519; p=${ed.publicKey}`], {}, ed).state).toBe('valid');
  });
});

describe('the record of a DKIM key is not valid, and the reason is given:', () => {
  const half = Math.floor(VALUE.length / 2);
  test.each([
    ['revoked', ['v=DKIM1; k=rsa; p='], /p= is empty, which revokes the key/],
    [
      'of another key',
      [dkimValue({ ...rsa, publicKey: `AAAA${P.slice(4)}` })],
      /the key is p="AAAA.*should be p="MIIB/,
    ],
    [
      'cut off',
      [VALUE.slice(0, 255)],
      /cut off after \d+ of \d+ characters: .*several strings in one record: "v=DKIM1/,
    ],
    ['of another type', [VALUE.replace('k=rsa', 'k=ed25519')], /key type is k=ed25519, but should be k=rsa/],
    ['of another version', [VALUE.replace('DKIM1', 'DKIM2')], /v=DKIM1 must come first/],
    ['with its version behind', [`k=rsa; v=DKIM1; p=${P}`], /v=DKIM1 must come first/],
    ['without a key', ['v=DKIM1; k=rsa'], /it has no key \(p=\)/],
    ['in quotes', [`"${VALUE}"`], /contains quotes or backslashes/],
    ['with escaped semicolons', [VALUE.replaceAll(';', '\\;')], /contains quotes or backslashes/],
    ['pasted in strings', [inStrings(VALUE)], /contains quotes or backslashes/],
    ['twice a tag', [`${VALUE}; k=rsa`], /the value is "v=DKIM1.*should be "v=DKIM1/],
    ['something else', ['hello'], /the value is "hello", but should be "v=DKIM1/],
    ['not for mail', [`${VALUE}; s=other`], /s= does not allow the key for mail/],
    ['not for SHA-256', [`${VALUE}; h=sha1`], /h= does not allow sha256/],
    ['beside another', [VALUE, 'v=DKIM1; p=AAAA'], /this host has 2 records, and receivers may use any of them/],
    [
      'split',
      [VALUE.slice(0, half), VALUE.slice(half)],
      /split into 2 records: publish one record that consists of several strings/,
    ],
    ['split and turned round', [`"${VALUE.slice(half)}"`, `"${VALUE.slice(0, half)}"`], /split into 2 records/],
  ])('%s', (_what, texts, problem) => {
    const verdict = diagnose(texts);
    expect(verdict.state).toBe('invalid');
    expect(verdict.problem).toMatch(problem);
  });

  test('a wildcard', () => {
    expect(diagnose(['v=spf1 -all'], { isWildcard: true }).problem).toMatch(/a wildcard record \(\*\) answers/);
    expect(diagnose(['a', 'b'], { isWildcard: true }).problem).toMatch(/wildcard/);
  });
});

describe('a missing DKIM key', () => {
  test.each([
    ['no TXT record', {}, 'missing', `there is no TXT record at ${HOST}`],
    ['no such name', { exists: false }, 'missing', `there is nothing at all at ${HOST}`],
    ['no such domain', { exists: false, domainExists: false }, 'missing', /example\.test does not exist in the DNS/],
    ['a CNAME in the way', { aliases: ['a.test', 'b.test'] }, 'invalid', /is a CNAME that leads to b\.test/],
    [
      ...['the name doubled', { doubled: { host: `${HOST}.example.test`, texts: [VALUE] } }, 'missing'],
      /appends example\.test automatically: enter ob-r-1\._domainkey as the host/,
    ],
  ] as const)('is distinguished from other cases: %s', (_what, more, state, problem) => {
    const verdict = diagnose([], more);
    expect(verdict.state).toBe(state);
    expect(verdict.problem).toMatch(problem);
  });

  test('is not assumed when the DNS does not answer', () => {
    expect(diagnose(null)).toMatchObject({ state: 'unknown', problem: expect.stringContaining('does not answer') });
  });
});

test.each([
  ['10 MB of one text', ['x'.repeat(10_000_000)]],
  ['10 MB of tags', ['a=b;'.repeat(2_500_000)]],
  ['control characters', ['v=DKIM1\r\n; p=\0\u{2028}']],
  ['a thousand records', Array.from({ length: 1000 }, (_, index) => `v=DKIM1; p=${index}`)],
  ['an empty one', ['']],
])('%s is read quickly', (_what, texts) => {
  expect(processorMs(() => expect(diagnose(texts).state).toBe('invalid'))).toBeLessThan(200);
});
