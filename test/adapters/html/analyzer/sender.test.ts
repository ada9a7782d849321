import { describe, expect, test } from 'vitest';
import { told } from './analysed.ts';

describe('a sender', () => {
  const from = (name: string) => ({ address: 'a@shop.example', name });
  test.each([
    ['paypal@paypal.com', ['sender-name-misleading from']],
    ['service@bank.co.uk via Shop', ['sender-name-misleading from']],
    ['www.bank.example', ['sender-name-misleading from']],
    ['Amazon.com', ['sender-name-misleading from']],
    ['Shop\u202etxt', ['sender-name-misleading from']],
    ['PayP\u0430l', ['sender-name-misleading from']],
    ['IT-отдел Shop магазин', []],
    ['楽天Ichiba カード', []],
    ['news@mail.shop.example', []],
    ['Shop.example – Ann @ Shop', []],
    ['Ann v1.2 (Shop Inc.)', []],
  ])('with the name %j', (name, expected) => {
    expect(told({ from: from(name) })).toEqual(expected);
  });

  test('under a look-alike domain is reported', () => {
    expect(told({ from: { address: 'a@xn--pple-43d.com' } }, { name: 'xn--pple-43d.com' })).toEqual([
      'lookalike-host from',
    ]);
    expect(told({ replyTo: [{ address: 'a@xn--80ak6aa92e.com' }] })).toEqual(['lookalike-host reply_to']);
  });

  test('that accepts no answers gets a note', () => {
    expect(told({ from: { address: 'no-reply@shop.example' } })).toEqual(['sender-no-reply from']);
    expect(told({ from: { address: 'donotreply+x@shop.example' } })).toEqual(['sender-no-reply from']);
    expect(told({ from: { address: 'noreply@shop.example' }, replyTo: [{ address: 'a@shop.example' }] })).toEqual([]);
    expect(told({ from: { address: 'nora@shop.example' } })).toEqual([]);
  });

  test.each([
    [{ verified: false }, ['domain-not-verified from']],
    [
      { spf: 'missing', dkim: 'invalid', dmarc: 'missing' } as const,
      ['dkim-not-valid from', 'spf-not-valid from', 'dmarc-not-valid from'],
    ],
    [{ spf: 'unknown', dmarc: 'unknown' } as const, ['authentication-unchecked from', 'authentication-unchecked from']],
    [{ verified: false, capturing: true, spf: 'missing' } as const, ['mail-captured from']],
  ])('on a domain that is %j', (domain, expected) => {
    expect(told({}, domain)).toEqual(expected);
  });

  test.each([
    ['transactional', {}, undefined, []],
    ['bulk', {}, undefined, ['unsubscribe-missing unsubscribe']],
    ['bulk', {}, { mailto: 'u@shop.example' }, ['unsubscribe-not-one-click unsubscribe']],
    ['bulk', {}, { url: 'http://shop.example/u' }, ['unsubscribe-not-one-click unsubscribe']],
    ['bulk', {}, { url: 'https://shop.example/u' }, []],
    ['bulk', {}, 'managed', []],
    ['bulk', { 'list-unsubscribe': '<https://x>' }, undefined, ['unsubscribe-not-one-click unsubscribe']],
    ['bulk', { 'List-Unsubscribe': '<https://x>', 'List-Unsubscribe-Post': 'x' }, undefined, []],
  ] as const)('of %s mail with %j and %j', (stream, headers, unsubscribe, expected) => {
    expect(told({ stream, headers, ...(unsubscribe === undefined ? {} : { unsubscribe }) })).toEqual(expected);
  });
});
