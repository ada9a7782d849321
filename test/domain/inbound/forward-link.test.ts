import { describe, expect, test } from 'vitest';
import {
  CONFIRMATION_DAYS,
  forwardToken,
  isForwardToken,
  readForwardToken,
} from '../../../src/domain/inbound/forward-link.ts';

const LINK = { routeId: `irt_${'b4'.repeat(12)}ba`, addressId: '0198f5a4-1111-7000-8000-0000000000ff' };
const SECRET = Buffer.alloc(32, 1);
const NOW = new Date('2026-07-01T12:00:00Z');
const after = (days: number) => new Date(NOW.getTime() + days * 86_400_000);
const token = forwardToken(SECRET, LINK, NOW);
const isValid = (text: string, now = NOW, secret = SECRET): boolean => {
  const read = readForwardToken(text);
  return read !== null && isForwardToken(secret, read, now);
};

describe('a link that confirms an address', () => {
  test('names the route and the address', () => {
    expect(readForwardToken(token)).toMatchObject(LINK);
    expect(isValid(token)).toBe(true);
  });

  test('expires', () => {
    expect(isValid(token, after(CONFIRMATION_DAYS - 0.01))).toBe(true);
    expect(isValid(token, after(CONFIRMATION_DAYS))).toBe(false);
  });

  test('cannot be made by another organization, or for another route, address or time', () => {
    expect(isValid(token, NOW, Buffer.alloc(32, 2))).toBe(false);
    const bytes = Buffer.from(token, 'base64url');
    for (const place of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed[place] = (changed[place] ?? 0) ^ 1;
      expect(isValid(changed.toString('base64url'))).toBe(false);
    }
  });

  test.each(['', 'x', `${token}x`, `${token}\n`, token.slice(1), '='.repeat(68), 'a'.repeat(10_000_000)])(
    'is nothing else',
    (text) => {
      expect(isValid(text)).toBe(false);
    },
  );
});
