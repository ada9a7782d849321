import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SuppressionEvent } from '../../../src/domain/kernel/events.ts';
import { bytesOfId, formatId } from '../../../src/domain/kernel/ids.ts';
import { unsubscribeUrlProblem } from '../../../src/domain/message/draft.ts';
import { message } from '../../../src/domain/message/message.ts';
import { unsubscribeRecipient } from '../../../src/domain/message/recipient-feedback.ts';
import { isLinkToken, readLinkToken, unsubscribeToken } from '../../../src/domain/message/tokens.ts';
import { type Suppression, suppression } from '../../../src/domain/suppression/suppression.ts';
import { about, attemptStarted, messageAccepted, recipient } from '../../support/controls/message.ts';
import { contextAt, NOW, positionOf, specify } from '../../support/specification.ts';

const BEFORE = '2026-11-21T11:00:00.000Z';
const LATER = '2026-11-21T13:00:00.000Z';
const suppressionAdded: SuppressionEvent = {
  type: 'SuppressionAdded',
  data: {
    suppressionId: 'sup_1',
    digest: 'digest-1',
    contentId: 'content-2',
    reason: 'unsubscribe',
    scope: 'all',
    expiresAt: null,
    source: null,
  },
};
const suppressionRemoved: SuppressionEvent = {
  type: 'SuppressionRemoved',
  data: { suppressionId: 'sup_1', contentId: 'content-2' },
};

const SECRET = new Uint8Array(32).fill(1);
const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
const ids = fc.tuple(bytes, bytes).map(([one, other]) => [formatId('msg', one), formatId('rcp', other)] as const);

describe('unsubscribing a recipient', () => {
  const { given } = specify(message);
  const two = messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] });
  const by =
    (recipientId: string, method: 'one_click' | 'page' = 'page', list: Suppression = { status: 'absent' }) =>
    (state: Parameters<typeof unsubscribeRecipient>[0]) =>
      unsubscribeRecipient(state, { recipientId, method, topicId: null, suppression: list, now: LATER });
  const unsubscribed = (sequence: number) => ({
    type: 'RecipientUnsubscribed' as const,
    data: { ...about, sequence, recipientId: 'rcp_1', method: 'page' as const },
  });

  test('is recorded for that recipient alone, with how it was done', () => {
    const { when } = given([two]);
    when(by('rcp_1')).thenEvents(unsubscribed(3));
    when(by('rcp_2', 'one_click')).thenState({ recipients: [{ unsubscribed: null }, { unsubscribed: { at: NOW } }] });
  });
  test('changes nothing else about the recipient, not even while the message is being sent', () => {
    given([two, attemptStarted(1, ['rcp_1', 'rcp_2'], { sequence: 3 })])
      .when(by('rcp_1'))
      .thenState({ recipients: [{ status: 'sending', lease: { attempt: 1 } }, { status: 'sending' }] });
  });
  test('is recorded once, whichever way it is repeated', () => {
    const { when } = given([two, unsubscribed(3)]);
    when(by('rcp_1')).thenNothing();
    when(by('rcp_1', 'one_click')).thenNothing();
  });
  test('is recorded again after the address was removed from the list, but only once', () => {
    // The order of the log decides, because clocks differ.
    const list = (removedAt: number, clock: string): Suppression =>
      [suppressionAdded, suppressionRemoved].reduce<Suppression>(
        (before, event) => suppression.evolve(before, event, contextAt(clock), positionOf(removedAt)),
        suppression.initial,
      );
    const { when } = given([two, unsubscribed(3)]);
    when(by('rcp_1', 'page', list(3, BEFORE))).thenEvents(unsubscribed(4));
    when(by('rcp_1', 'page', list(1, LATER))).thenNothing();
    given([two])
      .when(by('rcp_1', 'page', list(1, BEFORE)))
      .thenEvents(unsubscribed(3));
  });
  test('of a stranger, or of a message that does not exist, changes nothing', () => {
    given([two]).when(by('rcp_3')).thenNothing();
    given([]).when(by('rcp_1')).thenNothing();
  });
});

describe('the token of an unsubscribe link', () => {
  test('identifies its recipient', () => {
    fc.assert(
      fc.property(ids, ([messageId, recipientId]) => {
        const text = unsubscribeToken(SECRET, messageId, recipientId);
        expect(text).toMatch(/^[\w-]{64}$/);
        const token = readLinkToken(text);
        expect(token).toMatchObject({ messageId, recipientId });
        expect(token !== null && isLinkToken(SECRET, 'unsubscribe', token)).toBe(true);
      }),
    );
  });

  test('identifies no recipient with any bit of it changed', () => {
    fc.assert(
      fc.property(ids, fc.nat(383), ([messageId, recipientId], bit) => {
        const raw = Buffer.from(unsubscribeToken(SECRET, messageId, recipientId), 'base64url');
        raw[bit >> 3] = (raw[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const token = readLinkToken(raw.toString('base64url'));
        expect(token !== null && isLinkToken(SECRET, 'unsubscribe', token)).toBe(false);
      }),
    );
  });

  test('identifies no recipient under another secret, nor with another recipient of the same message', () => {
    const id = (prefix: 'msg' | 'rcp', byte: number) => formatId(prefix, new Uint8Array(16).fill(byte));
    const token = readLinkToken(unsubscribeToken(SECRET, id('msg', 1), id('rcp', 1)));
    if (token === null) throw new Error('not read');
    expect(isLinkToken(new Uint8Array(32).fill(2), 'unsubscribe', token)).toBe(false);
    expect(isLinkToken(SECRET, 'unsubscribe', { ...token, recipientId: id('rcp', 2) })).toBe(false);
    expect(isLinkToken(SECRET, 'unsubscribe', { ...token, messageId: id('msg', 2) })).toBe(false);
    expect(isLinkToken(SECRET, 'view', token)).toBe(false);
  });

  test.each([
    '',
    'x',
    'x'.repeat(63),
    'x'.repeat(65),
    'x'.repeat(10_000),
    `${'x'.repeat(63)}=`,
    `${'x'.repeat(63)}+`,
    `${'x'.repeat(64)}\n`,
    `${'x'.repeat(63)}é`,
  ])('is not %j', (text) => {
    expect(readLinkToken(text)).toBeNull();
  });

  test('contains ids as the bytes that they were made of', () => {
    fc.assert(
      fc.property(bytes, (raw) => {
        expect([...bytesOfId(formatId('msg', raw))]).toEqual([...raw]);
      }),
    );
  });
});

describe('a link given by the sender', () => {
  test.each([
    'https://a.test/',
    'https://a.test',
    'HTTPS://A.test:8443/u/%C3%BC?x=1&y=(2),3;z#there',
    'https://[2001:db8::1]/u',
    'https://a.test/u?to=b@c.test',
    `https://a.test/${'x'.repeat(885)}`,
  ])('may be %s', (text) => {
    expect(unsubscribeUrlProblem(text)).toBeNull();
  });

  test.each([
    '',
    'a.test',
    '/unsubscribe',
    '//a.test/u',
    'http://a.test/u',
    'mailto:a@b.test',
    'javascript:alert(1)',
    'https:a.test',
    'https:/a.test',
    'https://',
    'https:///u',
    'https://?u',
    'https://a.test\\u',
    'https://a test/',
    'https://a.test/ü',
    'https://müller.test/',
    'https://a.test/%zz',
    'https://a.test/%',
    'https://user@a.test/',
    'https://user:password@a.test/',
    'https://@a.test/',
    'https://a.test:99999/',
    'https://a.test/\r\nBcc: b@c.test',
    'https://a.test/\0',
    'https://\r\na.test/',
    ' https://a.test/',
    'https://a.test/ ',
    'https://a.test/>,<mailto:b@c.test',
    'https://a.test/"',
    'https://a.test/=?utf-8?q?x?=',
    `https://a.test/${'x'.repeat(886)}`,
  ])('may not be %j', (text) => {
    expect(unsubscribeUrlProblem(text)).toMatch(/^must /);
  });

  test('may not be 10 MB long', () => {
    expect(unsubscribeUrlProblem(`https://a.test/${'x'.repeat(10_000_000)}`)).toBe('must have at most 900 characters');
  });
});
