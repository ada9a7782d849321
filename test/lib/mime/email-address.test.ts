import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalAddress, domainOf, parseMailbox, writtenAddress } from '../../../src/lib/mime/email-address.ts';
import { processorMs } from '../../support/processor-time.ts';

describe('a mailbox is parsed', () => {
  it.each([
    ['a@b.test', { address: 'a@b.test' }],
    ['  a@b.test ', { address: 'a@b.test' }],
    ['<a@b.test>', { address: 'a@b.test' }],
    ["o'hara+tag=x/y!#$%&*?^_`{|}~-@b.test", { address: "o'hara+tag=x/y!#$%&*?^_`{|}~-@b.test" }],
    ['Ann Example <a@b.test>', { address: 'a@b.test', name: 'Ann Example' }],
    ['Ann<a@b.test>', { address: 'a@b.test', name: 'Ann' }],
    ['Dr. Ann <a@b.test>', { address: 'a@b.test', name: 'Dr. Ann' }],
    ['"Example, Ann" <a@b.test>', { address: 'a@b.test', name: 'Example, Ann' }],
    ['"say \\"hi\\" \\\\" <a@b.test>', { address: 'a@b.test', name: 'say "hi" \\' }],
    ['"x@y.test" <a@b.test>', { address: 'a@b.test', name: 'x@y.test' }],
    ['"" <a@b.test>', { address: 'a@b.test' }],
    ['🚀 Łódź <a@b.test>', { address: 'a@b.test', name: '🚀 Łódź' }],
    ['=?utf-8?q?x?= <a@b.test>', { address: 'a@b.test', name: '=?utf-8?q?x?=' }],
    ['Mixed.Case@EXAMPLE.Test', { address: 'Mixed.Case@example.test' }],
    ['jörg@müller.example', { address: 'jörg@xn--mller-kva.example' }],
    ['用户@例え.テスト', { address: '用户@xn--r8jz45g.xn--zckzah' }],
    ['Acme, Inc. <a@b.test>', { address: 'a@b.test', name: 'Acme, Inc.' }],
    ['Ann (office) <a@b.test>', { address: 'a@b.test', name: 'Ann (office)' }],
    ['x@y.test <a@b.test>', { address: 'a@b.test', name: 'x@y.test' }],
    ['Support: <a@b.test>', { address: 'a@b.test', name: 'Support:' }],
    ['"a b"@c.test', { address: '"a b"@c.test' }],
    ['"a,@\\"\\\\b"@C.test', { address: '"a,@\\"\\\\b"@c.test' }],
    ['Ann <"a b"@c.test>', { address: '"a b"@c.test', name: 'Ann' }],
    ['"ann"@c.test', { address: 'ann@c.test' }],
    ['"\\a\\ n"@c.test', { address: '"a n"@c.test' }],
    ['a..b@docomo.ne.jp', { address: 'a..b@docomo.ne.jp' }],
    ['a...@DOCOMO.ne.jp', { address: 'a...@docomo.ne.jp' }],
    ['"a..b"@docomo.ne.jp', { address: 'a..b@docomo.ne.jp' }],
    ['Ann <a.@ezweb.ne.jp>', { address: 'a.@ezweb.ne.jp', name: 'Ann' }],
    [`${'l'.repeat(64)}@b.test`, { address: `${'l'.repeat(64)}@b.test` }],
  ])('%j', (text, mailbox) => {
    expect(parseMailbox(text)).toEqual(mailbox);
  });
});

it.each([
  ['a@b.test', 'a@b.test'],
  ['a.b@docomo.ne.jp', 'a.b@docomo.ne.jp'],
  ['a..b@docomo.ne.jp', '"a..b"@docomo.ne.jp'],
  ['a.@docomo.ne.jp', '"a."@docomo.ne.jp'],
  ['"a b."@c.test', '"a b."@c.test'],
  ['', ''],
])('%s is written %s', (address, written) => {
  expect(writtenAddress(address)).toBe(written);
});

describe('input that is not exactly one address is refused with a reason', () => {
  it.each([
    ['it has no @', ''],
    ['it has no @', 'nobody'],
    ['it has nothing before its @', '@b.test'],
    ['its domain is not a domain name', 'a@'],
    ['its domain is not a domain name', 'a@b'],
    ['its domain is not a domain name', 'a@b..test'],
    ['its domain is not a domain name', 'a@b.test.'],
    ['its domain is not a domain name', 'a@-b.test'],
    ['its domain is not a domain name', 'a@b_c.test'],
    ['its domain is not a domain name', 'a@b c.test'],
    ['its domain is not a domain name', 'a@%62.test'],
    ['its domain is not a domain name', 'a@b.test:25'],
    ['its domain is not a domain name', `a@${'b'.repeat(64)}.test`],
    ['its domain is an IP address', 'a@[192.0.2.1]'],
    ['its domain is an IP address', 'a@192.0.2.1'],
    ['its domain is an IP address', 'a@127.0x1'],
    ['its domain is too long', `a@${'b.'.repeat(130)}test`],
    ['its local part is longer than 64 octets', `${'l'.repeat(65)}@b.test`],
    ['its local part is longer than 64 octets', `${'ü'.repeat(33)}@b.test`],
    ['it is longer than 254 octets', `${'l'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}`],
    ['its local part is malformed', 'a..b@c.test'],
    ['its local part is malformed', '.a@c.test'],
    ['its local part is malformed', 'a b@c.test'],
    ['its local part is malformed', 'a@b@c.test'],
    ['its local part is malformed', '"a\u00e4"@c.test'],
    ['its local part is malformed', '"a<b"@c.test'],
    ['its local part is malformed', '"a"b"@c.test'],
    ['its local part is malformed', '"a\\"@c.test'],
    ['its local part is malformed', '""@c.test'],
    ['its local part is malformed', '.a@docomo.ne.jp'],
    ['its local part is malformed', 'a..b@notdocomo.ne.jp'],
    ['its local part is longer than 64 octets', `"${'l '.repeat(32)}"@b.test`],
    ['its local part is longer than 64 octets', `a..${'l'.repeat(60)}@docomo.ne.jp`],
    ['its local part is malformed', 'a@b.test, c@d.test'],
    ['its display name needs quotes, or there is more than one', 'A <a@b.test>, C <c@d.test>'],
    ['its display name needs quotes, or there is more than one', 'Foo <a@b.test> <c@d.test>'],
    ['its display name needs quotes, or there is more than one', 'x@y.test, Ann <a@b.test>'],
    ['its display name needs quotes, or there is more than one', 'Ann "A" <a@b.test>'],
    ['its local part is malformed', 'Team: a@b.test;'],
    ['its local part is malformed', 'a(comment)@b.test'],
    ['it has a > without its <', 'a@b.test>'],
    ['its display name needs quotes, or there is more than one', '"open <a@b.test>'],
    ['its display name is longer than 256 characters', `${'n'.repeat(257)} <a@b.test>`],
    ['it is too long', `${'n'.repeat(2000)} <a@b.test>`],
    ['it contains a control character', 'a@b.test\r\nBcc: c@d.test'],
    ['it contains a control character', 'a@b.test\0'],
    ['it contains a control character', 'A\u0001B <a@b.test>'],
    ['its local part is malformed', 'a\tb@b.test'],
    ['it contains a control character', 'a\u2028@b.test'],
    ['it contains a control character', '\ud800@b.test'],
  ])('%s', (reason, text) => {
    expect(parseMailbox(text)).toBe(reason);
  });

  it('in linear time, for any input', () => {
    const tookMs = processorMs(() => {
      for (const text of ['"\\', 'a@', 'a.', '<', '@', '"<', 'ü', 'xn--']) parseMailbox(text.repeat(500_000));
      for (const text of ['a.', 'a@', 'a-', 'a@b.', 'a@b-.', `a@${'b'.repeat(60)}.`])
        parseMailbox(text.repeat(100).slice(0, 250));
    });
    expect(tookMs).toBeLessThan(1_000);
  });
});

describe('any accepted mailbox', () => {
  const accepted = fc
    .string({ unit: 'grapheme', maxLength: 60 })
    .chain((text) => fc.constantFrom(text, `${text}@b.test`, `${text} <a@b.test>`, `"${text}" <a@${text}.test>`))
    .map(parseMailbox)
    .filter((parsed) => typeof parsed !== 'string');

  it('parses to itself again, and contains nothing that could end a header or a command', () => {
    fc.assert(
      fc.property(accepted, ({ address }) => {
        expect(parseMailbox(address)).toEqual({ address });
        expect(address).not.toMatch(/[\p{Cc}<>]/u);
        expect(address.replace(/^"(?:[^"\\]|\\.)*"@/, 'quoted@')).not.toMatch(/[,;:"()[\]\\\s]/u);
        expect(domainOf(address)).toMatch(/^[a-z0-9.-]+$/);
      }),
    );
  });
});

it('an address of plain ASCII is read as if its domain had a capital letter', () => {
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '1', '0x', '-', '.', '_', '!', 'xn--', '@'), maxLength: 9 });
  const domain = part.filter((text) => /[a-z]/.test(text) && !text.includes('xn--'));
  const accepted = (text: string): unknown => {
    const parsed = parseMailbox(text);
    return typeof parsed === 'string' ? 'refused' : parsed; // letter case may change which error comes first
  };
  fc.assert(
    fc.property(part, domain, (local, text) => {
      const capital = text.replace(/[a-z]/, (one) => one.toUpperCase());
      expect(accepted(`${local}@${text}`)).toEqual(accepted(`${local}@${capital}`));
    }),
    { numRuns: 2_000 },
  );
  for (const length of [63, 64]) {
    const text = `${'l'.repeat(64)}@${'b'.repeat(length)}.c`;
    expect(parseMailbox(text)).toEqual(parseMailbox(text.replace('.c', '.C')));
  }
});

it('two spellings of one mailbox have one canonical form', () => {
  const spellings = ['Jörg.X@MÜLLER.example', 'jo\u0308rg.x@xn--mller-kva.example'].map(parseMailbox);
  const forms = spellings.map((parsed) => (typeof parsed === 'string' ? parsed : canonicalAddress(parsed.address)));
  expect(new Set(forms)).toEqual(new Set(['jörg.x@xn--mller-kva.example']));
});
