import { describe, expect, test } from 'vitest';
import { askedWaitSeconds } from '../../../src/domain/bounce/classify.ts';
import { processorMs } from '../../support/processor-time.ts';

describe('the wait that a reply names', () => {
  test.each([
    ['4.7.1 Please try again in 300 seconds', 300],
    ['Greylisted for 5 minutes', 300],
    ['4.2.0 <ann@example.org>: Recipient address rejected: Greylisted for 300 seconds (see http://x)', 300],
    ['Greylisting in action, please come back in 00:04:59', 299],
    ['Greylisting in action, please come back in 01:30:00', 5400],
    ['Too much mail from you. Try again after 10 min', 600],
    ['temporarily deferred, retry in 2 hours', 7200],
    ['Please wait at least 90s', 90],
    ['wait 15 minutes and resend', 900],
    ['4.7.1 Greylisted retry=120s', 120],
    ['please\r\ntry again\r\nin 4 hours', 14_400],
    ['TRY AGAIN IN 1 HOUR', 3600],
    ['You have sent 500 messages in 1 hour. Try again in 60 minutes', 3600],
    ['try again in 0 seconds', 0],
  ])('is read from %j', (text, seconds) => {
    expect(askedWaitSeconds(text)).toBe(seconds);
  });

  test.each([
    'Try again later',
    'Greylisted',
    'too many messages, limit 100 per 60 minutes, try again later',
    'try again later. You have sent 500 messages in 1 hour',
    'try again after 14:30:00',
    'Please retry with 3 recipients',
    'user30 minutes is over quota',
    'in 300 seconds',
    'retry in 2026 summer',
    'host 192.0.2.5 deferred',
    '',
  ])('is not in %j', (text) => {
    expect(askedWaitSeconds(text)).toBeUndefined();
  });

  test.each([
    'try again '.repeat(100_000),
    'wait in '.repeat(100_000),
    ' '.repeat(1_000_000),
    'retry in 9'.repeat(99_999),
  ])('is searched for quickly, whatever the text', (text) => {
    expect(processorMs(() => askedWaitSeconds(text))).toBeLessThan(50);
  });
});
