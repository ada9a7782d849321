import { describe, expect, test } from 'vitest';
import { recognizeClient } from '../../../src/domain/tracking/tracking.ts';
import { processorMs } from '../../support/processor-time.ts';

const PERSON = '203.0.113.7';
const recognize = (userAgent: string, address = PERSON, isHead = false) =>
  recognizeClient({ userAgent, address, isHead });

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36';

describe('people', () => {
  test.each([
    ['firefox', FIREFOX],
    ['chrome', CHROME],
    ['edge', `${CHROME} Edg/138.0.0.0`],
    ['safari', 'Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15'],
    ['apple_mail', 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'],
    ['thunderbird', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.3.0'],
    ['outlook', 'Mozilla/4.0 (compatible; ms-office; MSOffice 16)'],
    ['other', 'Something/1.0'],
  ])('read mail with %s', (family, userAgent) => {
    expect(recognize(userAgent)).toEqual({ family, network: 'other', machine: null });
  });
});

describe('machines', () => {
  test.each([
    ['apple_privacy_proxy', 'apple_mail', 'Mozilla/5.0', PERSON],
    ['apple_privacy_proxy', 'safari', 'Mozilla/5.0 Version/18.0 Safari/605.1.15', '17.58.0.1'],
    [
      'image_proxy',
      'gmail',
      'Mozilla/5.0 (Windows NT 5.1) Firefox/11.0 (via ggpht.com GoogleImageProxy)',
      '66.102.9.1',
    ],
    ['image_proxy', 'yahoo_mail', 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html', PERSON],
    ['scanner', 'other', '', PERSON],
    ['scanner', 'program', 'curl/8.5.0', PERSON],
    ['scanner', 'program', 'python-requests/2.32', PERSON],
    ['scanner', 'program', 'Mozilla/5.0 (compatible; SomeBot/1.0)', PERSON],
    ['scanner', 'program', 'Mozilla/5.0 HeadlessChrome/138.0', PERSON],
    ['scanner', 'chrome', CHROME, '40.107.22.1'],
    ['scanner', 'chrome', CHROME, '67.231.152.9'],
  ])('are recognised: %s', (machine, family, userAgent, address) => {
    expect(recognize(userAgent, address)).toMatchObject({ family, machine });
  });

  test('request only headers', () => {
    expect(recognize(FIREFOX, PERSON, true).machine).toBe('head_request');
  });
});

describe('networks', () => {
  test.each([
    ['apple', '17.1.2.3'],
    ['apple', '::ffff:17.1.2.3'],
    ['google', '66.249.84.1'],
    ['microsoft', '2a01:111:f400::1'],
    ['mail_filter', '209.222.82.1'],
    ['private', '192.168.0.1'],
    ['private', '127.0.0.1'],
    ['other', '2001:db8::1'],
  ])('are known by kind: %s for %s', (network, address) => {
    expect(recognize(FIREFOX, address).network).toBe(network);
  });
});

test('a user agent of any length is read quickly', () => {
  const tookMs = processorMs(() => {
    for (let turn = 0; turn < 100; turn += 1) recognize(`${'a '.repeat(8_000)}bot`);
  });
  expect(tookMs).toBeLessThan(500);
});
