import { describe, expect, test } from 'vitest';
import {
  forwardReturnAddress,
  isForwardReturnAddress,
  RETURN_DAYS,
  readForwardReturnAddress,
} from '../../../src/domain/inbound/return-address.ts';

const ID = `inb_${'k3'.repeat(13)}`;
const SECRET = Buffer.alloc(32, 1);
const OTHER = Buffer.alloc(32, 2);
const NOW = new Date('2026-07-01T12:00:00Z');
const after = (days: number) => new Date(NOW.getTime() + days * 86_400_000);

const address = forwardReturnAddress([SECRET], ID, NOW);
const read = (text: string, now = NOW, secret = SECRET) => readForwardReturnAddress([secret], text, now);

describe('the return address of a forwarded mail', () => {
  test('names the message, and fits into a local part', () => {
    expect(read(address)).toBe(ID);
    expect(address).toMatch(/^SRS0=[0-9a-f]{24}=[0-9a-v]{2}=[a-z2-7]{26}=inb$/);
    expect(address.length).toBeLessThanOrEqual(64);
  });

  test('is recognized in any letter case, because relays may change it', () => {
    expect(read(address.toUpperCase())).toBe(ID);
  });

  test('expires', () => {
    expect(read(address, after(RETURN_DAYS))).toBe(ID);
    expect(read(address, after(RETURN_DAYS + 1))).toBeNull();
    expect(read(address, after(-2))).toBeNull();
  });

  test('is proved by an earlier secret too', () => {
    expect(readForwardReturnAddress([OTHER, SECRET], address, NOW)).toBe(ID);
    expect(read(address, NOW, OTHER)).toBeNull();
  });

  const [, hex = '', day = '', id = ''] = address.split('=');
  test.each([
    ['another day', ['SRS0', hex, 'zz', id, 'inb'].join('=')],
    ['a later day', ['SRS0', hex, day === 'vv' ? '00' : 'vv', id, 'inb'].join('=')],
    ['another message', ['SRS0', hex, day, 'a'.repeat(26), 'inb'].join('=')],
    ['another MAC', ['SRS0', '0'.repeat(24), day, id, 'inb'].join('=')],
    ['a short MAC', ['SRS0', hex.slice(0, 22), day, id, 'inb'].join('=')],
    ['no MAC', ['SRS0', '', day, id, 'inb'].join('=')],
    ['a foreign scheme', ['SRS0', 'HHH', 'TT', 'example.net', 'ann'].join('=')],
    ['SRS1', `SRS1=HHH=example.org==${hex}=${day}=${id}=inb`],
    ['a line break', `${address}\r\n`],
    ['NUL', `${address}\0`],
    ['something before it', `x${address}`],
    ['10 MB', `SRS0=${'0'.repeat(10_000_000)}`],
    ['nothing', ''],
  ])('with %s is refused', (_, text) => {
    expect(read(text)).toBeNull();
  });

  test.each([
    ['SRS0=a=b=c=d', true],
    ['srs1+a=b=c=d', true],
    ['SRS0-a', true],
    ['srs', false],
    ['support', false],
  ])('is what %s looks like: %s', (text, looks) => {
    expect(isForwardReturnAddress(text)).toBe(looks);
  });
});
