import { describe, expect, test } from 'vitest';
import { analysed, countOf, told } from './analysed.ts';

const attached = (filename: string, content = 'aGVsbG8=') => ({ filename, contentType: 'application/pdf', content });
const base64 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('base64');

describe('attachments', () => {
  test.each([
    ['setup.exe', ['attachment-executable attachments[0]']],
    ['invoice.pdf.exe', ['attachment-executable attachments[0]']],
    ['invoice.pdf.JS. ', ['attachment-executable attachments[0]']],
    ['annexe\u202efdp.pdf', ['attachment-name-deceptive attachments[0]']],
    ['photos.zip', ['attachment-archive attachments[0]']],
    ['invoice.pdf', []],
    ['no ending', []],
    ['a.b.c.docx', []],
  ])('named %j', (filename, expected) => {
    expect(told({ attachments: [attached(filename)] })).toEqual(expected);
  });

  test.each([
    ['MZ\x90\0', 1],
    ['\x7fELF\x02', 1],
    ['#!/bin/sh\n', 1],
    ['\xca\xfe\xba\xbe\0', 1],
    ['%PDF-1.7', 0],
    ['', 0],
    ['M', 0],
  ])('that begin with %j', (bytes, count) => {
    expect(countOf('attachment-executable', { attachments: [attached('a.pdf', base64(bytes))] })).toBe(count);
  });

  test('that are among the alternatives', () => {
    const alternative = { contentType: 'application/x-msdownload', content: 'TVo=', beforeHtml: false };
    const alternatives = [{ ...alternative, contentType: 'text/calendar', content: 'QkVHSU4=' }, alternative];
    const both = { attachments: [attached('setup.exe')], alternatives };
    expect(told(both)).toEqual(['attachment-executable attachments[0]', 'attachment-executable alternatives[1]']);
    expect(analysed({ alternatives }).findings[0]?.message).toBe(
      'The part without a name begins like a Windows program.',
    );
    expect(
      countOf('attachment-executable', {
        alternatives: [{ ...alternative, contentType: 'text/calendar', content: 'QkVHSU4=' }],
      }),
    ).toBe(0);
  });

  test.each([
    ['application/x-msdownload', 1],
    ['Application/X-MSDOS-Program ; name=a', 1],
    ['application/pdf', 0],
  ])('that are sent as %s', (contentType, count) => {
    expect(countOf('attachment-executable', { attachments: [{ ...attached('a.pdf'), contentType }] })).toBe(count);
  });

  test('are named by what they pretend to be', () => {
    const [finding] = analysed({ attachments: [attached('invoice.pdf.exe')] }).findings;
    expect(finding?.message).toBe('"invoice.pdf.exe" is a program that looks like a pdf file.');
  });
});
