import { describe, expect, test } from 'vitest';
import { isIpAddress, isPrivateHost, lookalikeOf, namedHosts, siteOf, targetOf } from '../../../src/lib/html/hosts.ts';

test.each([
  ['a.b.shop.example', 'shop.example'],
  ['shop.example', 'shop.example'],
  ['www.shop.co.uk', 'shop.co.uk'],
  ['shop.com.au', 'shop.com.au'],
  ['x.co.com', 'co.com'],
  ['localhost', 'localhost'],
  ['10.1.2.3', '10.1.2.3'],
  ['[::1]', '[::1]'],
])('%s belongs to the site %s', (host, site) => {
  expect(siteOf(host)).toBe(site);
});

describe('a host', () => {
  test.each([
    ...['localhost', 'a.localhost', '0.0.0.0', '127.255.0.1', '10.0.0.1', '172.16.0.1', '172.31.255.255', '100.64.0.1'],
    ...[
      '192.168.1.1',
      '169.254.169.254',
      '[::]',
      '[::1]',
      '[fe80::1]',
      '[fc00::1]',
      '[::ffff:7f00:1]',
      'nas.home.arpa',
    ],
  ])('%s is private', (host) => {
    expect(isPrivateHost(host)).toBe(true);
  });

  test.each([
    ...['shop.example', '8.8.8.8', '172.32.0.1', '172.15.0.1', '100.128.0.1', '192.169.0.1', '[2606:4700::1]'],
    ...['[::ffff:808:808]', 'localhost.example', 'internal.example', '10.example'],
  ])('%s is not', (host) => {
    expect(isPrivateHost(host)).toBe(false);
  });

  test('is an address or a name', () => {
    expect(['1.2.3.4', '[::2]', 'a.example', '1.2.3'].map(isIpAddress)).toEqual([true, true, false, false]);
  });
});

test.each([
  ['visit https://a.example/x?y, please', [{ host: 'a.example', kind: 'url' }]],
  ['HTTP://A.EXAMPLE', [{ host: 'a.example', kind: 'url' }]],
  ['(www.a.example)', [{ host: 'www.a.example', kind: 'url' }]],
  ['“bank.com”', [{ host: 'bank.com', kind: 'name' }]],
  [
    'Bank.com/login or shop.de:8080',
    [
      { host: 'bank.com', kind: 'name' },
      { host: 'shop.de', kind: 'name' },
    ],
  ],
  ['a@bank.com, Node.js, ASP.NET, e.g. v1.2, 3.14, a..com, .com, -, https://x', []],
  ['', []],
])('the hosts that %j names', (text, hosts) => {
  expect(namedHosts(text)).toEqual(hosts);
});

test.each([
  ['https://A.example./x', { kind: 'web', host: 'a.example', plain: false }],
  ['http://user:pw@b.example:81', { kind: 'web', host: 'b.example', plain: true }],
  ['HtTpS://bücher.example', { kind: 'web', host: 'xn--bcher-kva.example', plain: false }],
  ['https:\\\\c.example\\x', { kind: 'web', host: 'c.example', plain: false }],
  ['\tjava\nscript:1', { kind: 'script' }],
  ['mailto:a@b.example', { kind: 'other' }],
  ['https://[', { kind: 'malformed' }],
  ['x', { kind: 'malformed' }],
  [' # ', { kind: 'empty' }],
  ['#a', { kind: 'fragment' }],
])('the target of %j', (address, target) => {
  expect(targetOf(address)).toEqual(target);
});

describe('a look-alike', () => {
  const shownOf = (unicode: string) => lookalikeOf(new URL(`https://${unicode}`).hostname);
  test.each([
    ['аpple.com', 'mixes scripts in one word'],
    ['paypaӏ.com', 'mixes scripts in one word'],
    ['gοοgle.com', 'mixes scripts in one word'],
    ['www.сорр.com', 'looks like copp'],
    ['ɡoogle.com', 'looks like google'],
  ])('%s', (host, why) => {
    expect(shownOf(host)).toMatchObject({ why });
  });

  test.each([
    'google.com',
    'müller.de',
    'москва.com',
    'сору.рф',
    '日本語.jp',
    'abc日本.jp',
    '한국.kr',
    'ελλάδα.gr',
    'xn--.com',
  ])('is not %s', (host) => {
    expect(host === 'xn--.com' ? lookalikeOf(host) : shownOf(host)).toBeNull();
  });
});
