import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readInboundReport } from '../../../src/adapters/inbound-reports/read-inbound-report.ts';
import { createInboundReportReader } from '../../../src/adapters/inbound-reports/receive-inbound-reports.ts';
import { classifyReply } from '../../../src/domain/bounce/classify.ts';
import type { InboundReport, Report } from '../../../src/domain/bounce/report.ts';
import { longestTurnMs } from '../../support/longest-turn.ts';
import { processorMs } from '../../support/processor-time.ts';
import { EXPECTATIONS } from './expectations.ts';

const FIXTURES = new URL('../../fixtures/inbound-reports/', import.meta.url);
const fixture = (name: string): string => readFileSync(new URL(`${name}.eml`, FIXTURES), 'utf8');

const told = (report: Report): readonly string[] => {
  if (report.kind === 'nothing') return [`nothing: ${report.why}`];
  if (report.kind === 'complaint') return [`complaint of ${report.addresses.join(' ')}`];
  return report.failures.map((failure) => {
    const { addresses, isPermanent, code, enhanced, mx } = failure;
    const lasting = isPermanent ? 'permanent' : 'given up';
    return `${addresses.join(' ')}: ${lasting} ${code} ${enhanced ?? '-'} ${mx ?? '-'} ${classifyReply(failure)}`;
  });
};

const read = (text: string): InboundReport => readInboundReport(Buffer.from(text));
const onTheWire = (text: string): string => text.replaceAll('\n', '\r\n');

const status = (fields: string): string =>
  onTheWire(`From: MAILER-DAEMON@b.test
Content-Type: multipart/report; report-type=delivery-status; boundary=B

--B
Content-Type: message/delivery-status

Reporting-MTA: dns; b.test

${fields}
--B--
`);

describe('a returned mail', () => {
  test('has an expectation for every file in the folder', () => {
    const names = readdirSync(FIXTURES).map((name) => name.replace('.eml', ''));
    expect(names.sort()).toEqual(Object.keys(EXPECTATIONS).sort());
    expect(names.length).toBeGreaterThanOrEqual(40);
  });

  test.each(Object.entries(EXPECTATIONS))('%s', (name, expected) => {
    expect(told(read(onTheWire(fixture(name))).report)).toEqual(expected);
    expect(told(read(fixture(name)).report)).toEqual(expected);
  });

  test.each([
    ['names the envelope', 'Reporting-MTA: dns; b.test\nOriginal-Envelope-Id: e0123', 'e0123'],
    ['names it behind an empty line', '\nOriginal-Envelope-ID:  e0123 \nReporting-MTA: dns; b.test', 'e0123'],
    ['names none', 'Reporting-MTA: dns; b.test', null],
    ['names it of a recipient alone', 'X: y\n\nOriginal-Envelope-Id: e0123\nAction: failed', null],
  ])('%s', (_, fields, envelopeId) => {
    const report = status('Final-Recipient: rfc822; a@b.test\nAction: failed\nStatus: 5.1.1');
    const changed = report.replace('Reporting-MTA: dns; b.test', onTheWire(fields));
    expect(read(changed).envelopeId).toBe(envelopeId);
  });

  test('quotes what may prove which message it is about', () => {
    const { quoted } = read(onTheWire(fixture('arf-redacted')));
    expect(quoted).toEqual({
      localParts: ['b0123456789abcdefghijklmnopqrstuv0123456789abcdef'],
      linkTokens: ['AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v'],
    });
  });
});

describe('a hostile mail', () => {
  test.each([
    ['a NUL', 'a\0b@c.test'],
    ['a line feed', 'a@c.test\n\tb@d.test'],
    ['a carriage return', 'a\rb@c.test'],
    ['an address in the address', 'a@c.test>,<b@d.test'],
    ['nothing', ''],
    ['a megabyte', `${'a'.repeat(900_000)}@c.test`],
    ['a host that is an address', 'a@[192.0.2.1]'],
  ])('names no recipient with %s in the address', (_, address) => {
    const { report } = read(status(`Final-Recipient: rfc822; ${address}\nAction: failed\nStatus: 5.1.1\n`));
    expect(report).toMatchObject({ kind: 'failures', failures: [{ addresses: [] }] });
  });

  test('leaves no control character in the quoted reply', () => {
    const { report } = read(
      status('Final-Recipient: rfc822; a@c.test\nAction: failed\nDiagnostic-Code: smtp; 550 \0\x1b[31m\x07no\n'),
    );
    expect(report).toMatchObject({ failures: [{ text: '550 [31m no' }] });
  });

  test('with 10,000 recipients is read up to a limit', () => {
    const many = Array.from({ length: 10_000 }, (_, i) => `Final-Recipient: rfc822; a${i}@c.test\nAction: failed\n`);
    const tookMs = processorMs(() => {
      const { report } = read(status(many.join('\n')));
      expect(report.kind === 'failures' && report.failures.length).toBe(1000);
    });
    expect(tookMs).toBeLessThan(1_000);
  });

  test('with a thousand nested parts reports nothing', () => {
    const parts = Array.from({ length: 1000 }, (_, i) => `Content-Type: multipart/mixed; boundary=B${i}\n\n--B${i}\n`);
    expect(read(onTheWire(parts.join(''))).report).toEqual({ kind: 'nothing', why: 'not a report' });
  });

  test.each([
    ['nothing at all', ''],
    ['bytes without sense', '\0\xff\xfe'.repeat(100_000)],
    ['a header of a megabyte', `Subject: ${'x'.repeat(1_000_000)}`],
    ['a hundred thousand headers', 'A: b\r\n'.repeat(100_000)],
    ['a megabyte of tags', `Subject: failure notice\r\nContent-Type: text/html\r\n\r\n${'<'.repeat(1_000_000)}`],
    ['a megabyte of an open tag', `Subject: failure notice\r\nContent-Type: text/html\r\n\r\n${'<a '.repeat(300_000)}`],
    ['a megabyte of addresses', `Subject: failure notice\r\n\r\nundeliverable\r\n${'a@b.test\r\n'.repeat(100_000)}`],
    ['a megabyte of at signs', `Subject: failure notice\r\n\r\nundeliverable ${'@'.repeat(1_000_000)}`],
    ['a megabyte of half tokens', `Subject: failure notice\r\n\r\nundeliverable ${'b0'.repeat(500_000)}`],
    ['a megabyte of digits', `Subject: failure notice\r\n\r\nundeliverable ${'5.5.'.repeat(250_000)}`],
    ['a megabyte of spaces', `Subject: failure notice\r\n\r\nundeliverable ${' \t'.repeat(500_000)}`],
    ['a megabyte of blank lines', status('\n'.repeat(900_000))],
    ['a megabyte of folds', status(`Diagnostic-Code: x\n${' \n'.repeat(450_000)}`)],
  ])('is read quickly: %s', (_, text) => {
    expect(processorMs(() => expect(read(text).report.kind).toBeTypeOf('string'))).toBeLessThan(1_000);
  });
});

describe('the reader', () => {
  test('reads large mails in a thread, with the same result, while the event loop continues', async () => {
    const reader = createInboundReportReader();
    const mail = `${onTheWire(fixture('postfix-user-unknown'))}\r\n${'x'.repeat(76)}`;
    const large = Buffer.from(mail.replace('--B_1--', `${`${'y'.repeat(76)}\r\n`.repeat(12_000)}--B_1--`));
    let read: Awaited<ReturnType<typeof reader.read>> | undefined;
    const longestMs = await longestTurnMs(async () => {
      read = await reader.read(large, '192.0.2.1');
    });
    expect(read === undefined ? undefined : told(read.report)).toEqual(EXPECTATIONS['postfix-user-unknown']);
    expect(longestMs).toBeLessThan(100);
    await reader.close();
  });

  test('reads the report of a network that has none waiting before the backlog of another', async () => {
    const reader = createInboundReportReader();
    const large = Buffer.from(`Subject: x\r\n\r\n${'y'.repeat(900_000)}`);
    const order: string[] = [];
    const read = (network: string) => reader.read(large, network).then(() => void order.push(network));
    const all = Array.from({ length: 20 }, () => read('192.0.2.1'));
    await Promise.all([...all, read('192.0.2.2')]);
    expect(order.indexOf('192.0.2.2')).toBeLessThanOrEqual(2);
    expect(order).toHaveLength(21);
    await reader.close();
  });
});
