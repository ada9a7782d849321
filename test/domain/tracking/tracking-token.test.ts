import { describe, expect, test } from 'vitest';
import { bytesOfId, formatId } from '../../../src/domain/kernel/ids.ts';
import {
  clickUrl,
  openUrl,
  readClick,
  readOpen,
  type TrackedLink,
  type TrackingKey,
  type TrackingKeys,
} from '../../../src/domain/tracking/tracking.ts';

const keyOf = (id: number, fill: number): TrackingKey => ({ id: Buffer.from([0, id]), bytes: Buffer.alloc(32, fill) });
const KEYS: TrackingKeys = [keyOf(1, 1)];
const BASE = 'https://track.example.test';
const TARGET = 'https://shop.test/a?b=c&d=%41#e';
const LINK: TrackedLink = {
  messageId: formatId('msg', Buffer.alloc(16, 3)),
  recipientId: formatId('rcp', Buffer.alloc(16, 4)),
  organizationId: formatId('org', Buffer.alloc(16, 5)),
  link: 2,
  links: 5,
};

const tokenOf = (url: string): string => new URL(url).pathname.split('/')[2] ?? '';
const TOKEN = tokenOf(clickUrl(KEYS, BASE, LINK, TARGET));

describe('a token of a tracked link', () => {
  test('names organization, message, recipient and link, for exactly its address', () => {
    const url = new URL(clickUrl(KEYS, BASE, LINK, TARGET));
    expect(url.origin).toBe(BASE);
    expect(url.searchParams.get('u')).toBe(TARGET);
    expect(readClick(KEYS, tokenOf(url.href), TARGET)).toEqual(LINK);
  });

  test.each([
    ['another path', 'https://shop.test/b?b=c&d=%41#e'],
    ['another host', 'https://evil.test/a?b=c&d=%41#e'],
    ['another scheme', 'http://shop.test/a?b=c&d=%41#e'],
    ['a script', 'javascript:alert(1)'],
    ['the address encoded twice', encodeURIComponent(TARGET)],
    ['the address decoded twice', 'https://shop.test/a?b=c&d=A#e'],
    ['a space behind it', `${TARGET} `],
    ['NUL behind it', `${TARGET}\0`],
    ['CR and LF behind it', `${TARGET}\r\nSet-Cookie: a=b`],
    ['8 kB', `https://shop.test/${'a'.repeat(8192)}`],
    ['nothing', ''],
  ])('proves nothing for %s', (_, url) => {
    expect(readClick(KEYS, TOKEN, url)).toBeNull();
  });

  test('of another message, recipient, organization or link proves nothing', () => {
    const others: readonly Partial<TrackedLink>[] = [
      { messageId: formatId('msg', Buffer.alloc(16, 9)) },
      { recipientId: formatId('rcp', Buffer.alloc(16, 9)) },
      { organizationId: formatId('org', Buffer.alloc(16, 9)) },
      { link: 3 },
      { links: 6 },
    ];
    for (const other of others) {
      const bytes = Buffer.from(TOKEN, 'base64url');
      const theirs = Buffer.from(tokenOf(clickUrl(KEYS, BASE, { ...LINK, ...other }, TARGET)), 'base64url');
      theirs.subarray(-18).set(bytes.subarray(-18));
      expect(readClick(KEYS, theirs.toString('base64url'), TARGET)).toBeNull();
    }
  });

  test('with any of its bits changed proves nothing', () => {
    for (let at = 0; at < 72 * 8; at += 7) {
      const bytes = Buffer.from(TOKEN, 'base64url');
      bytes[at >> 3] = (bytes[at >> 3] ?? 0) ^ (1 << (at & 7));
      expect(readClick(KEYS, bytes.toString('base64url'), TARGET)).toBeNull();
    }
  });

  test.each(['', 'x', TOKEN.slice(1), `${TOKEN}A`, `${TOKEN}=`, TOKEN.replace(/^./, '+'), `${TOKEN}\n`])(
    'has one spelling, which is not %j',
    (token) => {
      expect(readClick(KEYS, token, TARGET)).toBeNull();
    },
  );

  test('is not that of an image, nor the other way round', () => {
    expect(readOpen(KEYS, TOKEN)).toBeNull();
    const open = tokenOf(openUrl(KEYS, BASE, LINK));
    const { messageId, recipientId, organizationId } = LINK;
    expect(readOpen(KEYS, open)).toMatchObject({ messageId, recipientId, organizationId });
    expect(readClick(KEYS, open, '')).toBeNull();
  });

  test('outlives the key it was made with, if that key is known', () => {
    expect(readClick([keyOf(2, 2), ...KEYS], TOKEN, TARGET)).toEqual(LINK);
    expect(readClick([keyOf(1, 2), ...KEYS], TOKEN, TARGET)).toEqual(LINK); // ids are short, and may collide
    expect(readClick([keyOf(2, 2)], TOKEN, TARGET)).toBeNull();
    expect(readClick([keyOf(1, 2)], TOKEN, TARGET)).toBeNull();
  });
});

describe('a token of an earlier version', () => {
  const CLICK = 'AAEDAwMDAwMDAwMDAwMDAwMDBAQEBAQEBAQEBAQEBAQEBAACAAXhjxL6turr4fXpGBjqNf2s';
  const OPEN = 'AAEDAwMDAwMDAwMDAwMDAwMDBAQEBAQEBAQEBAQEBAQEBAAAAADPIUtmbJV-i6UlraUbM3Eo';

  test('is accepted, and names no organization', () => {
    expect(readClick(KEYS, CLICK, TARGET)).toEqual({ ...LINK, organizationId: null });
    expect(readOpen(KEYS, OPEN)).toMatchObject({ messageId: LINK.messageId, organizationId: null });
    expect(readClick(KEYS, CLICK, 'https://evil.test/')).toBeNull();
    expect(readOpen(KEYS, CLICK)).toBeNull();
  });

  test('is never one of the present version, for any organization, nor the other way round', () => {
    const earlier = Buffer.from(CLICK, 'base64url');
    const present = Buffer.from(TOKEN, 'base64url');
    const organization = bytesOfId(LINK.organizationId);
    const spliced = [
      Buffer.concat([earlier.subarray(0, 38), organization, earlier.subarray(38), Buffer.alloc(2)]),
      Buffer.concat([earlier.subarray(0, 38), organization, earlier.subarray(36)]),
      Buffer.concat([present.subarray(0, 38), present.subarray(54, 70)]),
      Buffer.concat([present.subarray(0, 38), present.subarray(38, 54)]),
      present.subarray(0, 54),
    ];
    for (const bytes of spliced) expect(readClick(KEYS, bytes.toString('base64url'), TARGET)).toBeNull();
  });
});
