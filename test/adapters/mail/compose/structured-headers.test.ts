import { decodeWords } from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { mailboxesIn } from '../../../../src/lib/mime/mime.ts';
import { createPostOffice, headerOf } from '../post-office.ts';

const { sent } = createPostOffice();

/** The header as sent, unfolded. */
const written = async (name: string, value: string): Promise<string> => {
  const { headerLines } = await sent({ headers: { [name]: value } });
  const line = headerLines.find(({ key }) => key === name.toLowerCase())?.line ?? '';
  expect(line).toMatch(/^[\t\r\n -~]*$/);
  return line.replaceAll(/\r?\n/g, '').slice(name.length + 2);
};

describe('a header of addresses', () => {
  it.each([
    'Reply-To',
    'Resent-From',
    'Resent-Sender',
    'Resent-To',
    'Resent-Cc',
    'Errors-To',
    'Disposition-Notification-To',
    'Return-Receipt-To',
  ])('%s keeps its address, and its name is encoded', async (name) => {
    const line = await written(name, 'Zoë <r@example.org>');
    expect(line).toBe('=?UTF-8?Q?Zo=C3=AB?= <r@example.org>');
  });

  it.each([
    ['Zoë <z@b.test>, "Ann, B" <a@b.test>, c@d.test', 'Zoë <z@b.test>, "Ann, B" <a@b.test>, c@d.test'],
    ['Jörg Müller <j@müller.example>', 'Jörg Müller <j@xn--mller-kva.example>'],
    ['=?utf-8?q?=42cc=3A?= <a@b.test>', '=?utf-8?q?=42cc=3A?= <a@b.test>'],
    ['Zoë, Ärzte & Co. <z@b.test>', 'Zoë, Ärzte & Co. <z@b.test>'],
  ])('%s', async (value, decoded) => {
    expect(decodeWords(await written('Reply-To', value))).toBe(decoded);
  });

  it('is quoted if it is one name with a comma', async () => {
    expect(await written('Reply-To', 'Acme, Inc. <a@b.test>')).toBe('"Acme, Inc." <a@b.test>');
  });

  it.each(['Desk <desk@b.test>', 'a@b.test, Bob <b@b.test>', '"Acme, Inc." <a@b.test>', '<>', 'undisclosed:;'])(
    'is left as it was given if that is ASCII: %s',
    async (value) => {
      expect(await written('Errors-To', value)).toBe(value);
    },
  );

  it('is text if it holds no address', async () => {
    expect(decodeWords(await written('Errors-To', 'niemand für uns'))).toBe('niemand für uns');
  });
});

describe('a header of ids or links', () => {
  it.each([
    ['List-ID', 'Büro-Liste <buero.example.org>', '=?UTF-8?Q?B=C3=BCro-Liste?= <buero.example.org>'],
    ['List-Help', '<mailto:h@b.test> (Hilfe für alle)', '<mailto:h@b.test> (=?UTF-8?Q?Hilfe_f=C3=BCr_alle?=)'],
    ['List-Archive', '<https://b.test/größe>', '<https://b.test/gr%C3%B6%C3%9Fe>'],
    ['List-Owner', '<https://b.test/ä>, <mailto:o@b.test>', '<https://b.test/%C3%A4>, <mailto:o@b.test>'],
    ['References', '<1@b.test> <2@b.test>', '<1@b.test> <2@b.test>'],
  ])('%s: %s', async (name, value, expected) => {
    expect(await written(name, value)).toBe(expected);
  });

  it.each([
    ['References', '<ü@b.test>'],
    ['List-ID', '<liste ü>'],
    ['List-Help', 'ü <'],
  ])('%s: %s is written as text, as nothing in it can be left unchanged', async (name, value) => {
    expect(decodeWords(await written(name, value))).toBe(value);
  });
});

it('hostile values add no header and end in time', async () => {
  for (const value of [
    'ü <a@b.test>\r\nBcc: x@y.test',
    'ü\0<a@b.test>',
    `ü${'<'.repeat(8_000)}`,
    `ü${'"\\'.repeat(7_000)}`,
  ])
    for (const name of ['Reply-To', 'List-ID', 'List-Help']) {
      const mail = await sent({ headers: { [name]: value } });
      expect(headerOf(mail, 'bcc')).toBeUndefined();
    }
  expect(mailboxesIn('a@b.test,'.repeat(2_000))).toHaveLength(2_000);
});
