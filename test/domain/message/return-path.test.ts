import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatId } from '../../../src/domain/kernel/ids.ts';
import {
  indexesOf,
  isReturnPath,
  type ReturnPurpose,
  readReturnPath,
  returnPath,
} from '../../../src/domain/message/tokens.ts';
import { parseMailbox } from '../../../src/lib/mime/mime.ts';

const SECRET = new Uint8Array(32).fill(1);
const messageIds = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => formatId('msg', bytes));
const places = fc.option(fc.nat(126));
const purposes = fc.constantFrom<ReturnPurpose>('bounce', 'unsubscribe', 'envelope');
const messageId = formatId('msg', new Uint8Array(16));
const named = { purpose: 'bounce', messageId, recipientIndex: 1 } as const;

const recipients = ['a.test', 'b.test', 'a.test', 'b.test'].map((domain) => ({ domain }));

describe('the recipient that an address identifies', () => {
  test.each([
    [{ recipientIndex: 1 }, [1]],
    [{ recipientIndex: 1, sharesDomain: true }, [1, 3]],
    [{ recipientIndex: 2, sharesDomain: true }, [0, 2]],
    [{ recipientIndex: null }, [0, 1, 2, 3]],
    [{ recipientIndex: 9 }, []],
    [{ recipientIndex: 9, sharesDomain: true }, []],
  ])('%j: %j', (token, places) => {
    expect(indexesOf(token, recipients)).toEqual(places);
  });
});

describe('the address that a message is returned to', () => {
  test('for several recipients of a domain differs from that for one of them', () => {
    fc.assert(
      fc.property(purposes, messageIds, fc.nat(126), (purpose, messageId, recipientIndex) => {
        const shared = readReturnPath(returnPath(SECRET, { purpose, messageId, recipientIndex, sharesDomain: true }));
        expect(shared).toMatchObject({ purpose, messageId, recipientIndex, sharesDomain: true });
        if (shared === null) return;
        expect(isReturnPath(SECRET, shared)).toBe(true);
        expect(isReturnPath(SECRET, { ...shared, sharesDomain: false })).toBe(false);
      }),
    );
  });

  test('identifies its recipient, in upper and lower case', () => {
    fc.assert(
      fc.property(purposes, messageIds, places, fc.boolean(), (purpose, messageId, recipientIndex, upper) => {
        const localPart = returnPath(SECRET, { purpose, messageId, recipientIndex });
        const token = readReturnPath(upper ? localPart.toUpperCase() : localPart);
        expect(token).toMatchObject({ purpose, messageId, recipientIndex });
        expect(token !== null && isReturnPath(SECRET, token)).toBe(true);
      }),
    );
  });

  test('is valid everywhere: letters and digits, far below 64 octets', () => {
    const localPart = returnPath(SECRET, named);
    expect(localPart).toMatch(/^b[0-9a-v]{48}$/);
    expect(parseMailbox(`${localPart}@bounces.example.test`)).toEqual({ address: `${localPart}@bounces.example.test` });
  });

  test('identifies no recipient with any bit of it changed', () => {
    fc.assert(
      fc.property(
        messageIds,
        places,
        fc.nat(47),
        fc.integer({ min: 1, max: 31 }),
        (messageId, recipientIndex, at, by) => {
          const localPart = returnPath(SECRET, { purpose: 'bounce', messageId, recipientIndex });
          const digit = (Number.parseInt(localPart.charAt(at + 1), 32) + by) % 32;
          const token = readReturnPath(localPart.slice(0, at + 1) + digit.toString(32) + localPart.slice(at + 2));
          expect(token !== null && isReturnPath(SECRET, token)).toBe(false);
        },
      ),
    );
  });

  test('identifies no recipient under another secret, for another recipient or for another purpose', () => {
    const token = readReturnPath(returnPath(SECRET, named));
    if (token === null) throw new Error('not read');
    expect(isReturnPath(new Uint8Array(32).fill(2), token)).toBe(false);
    expect(isReturnPath(SECRET, { ...token, recipientIndex: null })).toBe(false);
    expect(isReturnPath(SECRET, { ...token, purpose: 'unsubscribe' })).toBe(false);
    const other = readReturnPath(`u${returnPath(SECRET, named).slice(1)}`);
    expect(other !== null && isReturnPath(SECRET, other)).toBe(false);
  });

  test('identifies all recipients if there are more than it can count', () => {
    expect(readReturnPath(returnPath(SECRET, { ...named, recipientIndex: 255 }))?.recipientIndex).toBeNull();
    expect(readReturnPath(returnPath(SECRET, { ...named, recipientIndex: 1000 }))?.recipientIndex).toBeNull();
  });

  test.each([
    '',
    'b',
    'x'.repeat(49),
    `b${'0'.repeat(47)}`,
    `b${'0'.repeat(49)}`,
    `b${'w'.repeat(48)}`,
    `b${'0'.repeat(47)}\n`,
    `b${'0'.repeat(48)}\n`,
    `b${'0'.repeat(47)}\0`,
    'b'.repeat(1_000_000),
    `prvs=1234=b${'0'.repeat(48)}`,
  ])('is not %j', (text) => {
    expect(readReturnPath(text)).toBeNull();
  });
});
