import { expect, test } from 'vitest';
import {
  attachmentLink,
  expiryOf,
  isAttachmentLink,
  readAttachmentLink,
} from '../../../src/domain/inbound/attachment-link.ts';

const SECRET = Buffer.alloc(32, 1);
const PLACE = { inboundId: `inb_${'a'.repeat(25)}q`, part: 3 };
const at = (time: string) => ({ now: new Date(time), publicUrl: 'https://mail.example.com' });
const tokenOf = (url: string): string => url.split('/').at(-1) ?? '';
const linkAt = (time: string, place = PLACE) => attachmentLink(SECRET, { ...place, ...at(time) });

test('names the message, the part and the end of its last day', () => {
  const { url, expiresAt } = linkAt('2026-01-01T23:59:59.000Z');
  expect(url).toMatch(/^https:\/\/mail\.example\.com\/inbound-attachments\/[\w-]{64}$/);
  const link = readAttachmentLink(tokenOf(url));
  expect(link).toMatchObject(PLACE);
  expect(link && [isAttachmentLink(SECRET, link), expiryOf(link)]).toEqual([true, expiresAt]);
  expect(expiresAt).toBe('2026-01-09T00:00:00.000Z');
});

test('is the same all day, and another one the next day', () => {
  expect(linkAt('2026-01-01T00:00:00.000Z')).toEqual(linkAt('2026-01-01T23:59:59.999Z'));
  expect(linkAt('2026-01-02T00:00:00.000Z').url).not.toBe(linkAt('2026-01-01T00:00:00.000Z').url);
});

test('is refused with another secret, message, part or day, and with any changed character', () => {
  const token = tokenOf(linkAt('2026-01-01T00:00:00.000Z').url);
  const link = readAttachmentLink(token);
  if (link === null) throw new Error('the token cannot be read');
  expect(isAttachmentLink(Buffer.alloc(32, 2), link)).toBe(false);
  for (const other of [{ inboundId: `inb_${'b'.repeat(25)}q` }, { part: 2 }, { day: link.day + 1 }])
    expect(isAttachmentLink(SECRET, { ...link, ...other })).toBe(false);
  for (let at = 0; at < token.length; at += 1) {
    const changed = readAttachmentLink(token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1));
    expect(changed && isAttachmentLink(SECRET, changed)).toBe(false);
  }
});

test('is no token with another length or other characters', () => {
  const token = tokenOf(linkAt('2026-01-01T00:00:00.000Z').url);
  for (const text of ['', token.slice(1), `${token}A`, `${token.slice(1)}=`, `${token.slice(1)}+`, `${token}\n`, '\0'])
    expect(readAttachmentLink(text)).toBeNull();
});
