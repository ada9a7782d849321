import { describe, expect, onTestFinished, test } from 'vitest';
import { createFetchStsPolicy, mxMatches, readStsPolicy } from '../../../../src/lib/smtp/policy/mta-sts.ts';

const policy = (...lines: readonly string[]): string => lines.join('\r\n');
const VERSION = 'version: STSv1';
const AGE = 'max_age: 604800';

describe('a policy', () => {
  test.each([
    [policy(VERSION, 'mode: enforce', 'mx: Mail.example.com', 'mx: *.example.net', AGE)],
    [[VERSION, 'mode:enforce ', 'mx:mail.example.com', 'mx:\t*.example.net', AGE, '', ''].join('\n')],
    [policy(AGE, 'mx: mail.example.com', VERSION, 'mx: *.example.net', 'mode: enforce')],
    [policy(VERSION, 'mode: enforce', 'x_new.one: 1', 'mx: mail.example.com', 'mx: *.example.net', AGE)],
    [policy(VERSION, 'mode: enforce', 'mode: none', 'mx: mail.example.com', 'mx: *.example.net', AGE, 'max_age: 1')],
  ])('is read: %j', (text) => {
    expect(readStsPolicy(text)).toEqual({
      mode: 'enforce',
      mx: ['mail.example.com', '*.example.net'],
      maxAgeSeconds: 604_800,
    });
  });

  test('may have mode none, and then needs no hosts', () => {
    expect(readStsPolicy(policy(VERSION, 'mode: none', AGE))).toEqual({ mode: 'none', mx: [], maxAgeSeconds: 604_800 });
  });

  test('lasts for a year at most', () => {
    const text = policy(VERSION, 'mode: testing', 'mx: a.example', 'max_age: 9999999999');
    expect(readStsPolicy(text)).toMatchObject({ mode: 'testing', maxAgeSeconds: 31_557_600 });
  });

  test.each([
    ['nothing', ''],
    ['no version', policy('mode: enforce', 'mx: a.example', AGE)],
    ['another version', policy('version: STSv2', 'mode: enforce', 'mx: a.example', AGE)],
    ['no mode', policy(VERSION, 'mx: a.example', AGE)],
    ['another mode', policy(VERSION, 'mode: Enforce', 'mx: a.example', AGE)],
    ['no hosts', policy(VERSION, 'mode: enforce', AGE)],
    ['no age', policy(VERSION, 'mode: enforce', 'mx: a.example')],
    ['an age that is no number', policy(VERSION, 'mode: enforce', 'mx: a.example', 'max_age: 1e5')],
    ['a negative age', policy(VERSION, 'mode: enforce', 'mx: a.example', 'max_age: -1')],
    ['a wildcard inside', policy(VERSION, 'mode: enforce', 'mx: a.*.example', AGE)],
    ['a bare wildcard', policy(VERSION, 'mode: enforce', 'mx: *', AGE)],
    ['an old wildcard', policy(VERSION, 'mode: enforce', 'mx: .example.com', AGE)],
    ['an invalid host', policy(VERSION, 'mode: enforce', 'mx: a b', AGE)],
    ['a line that is no field', policy(VERSION, 'mode: enforce', 'mx: a.example', AGE, '<html>')],
    ['NUL', policy(VERSION, 'mode: enforce', 'mx: a\0.example', AGE)],
    ['64 kB of one label', policy(VERSION, 'mode: enforce', `mx: ${'a'.repeat(65_000)}`, AGE)],
    ['64 kB of labels', policy(VERSION, 'mode: enforce', `mx: ${'a.'.repeat(32_000)}!`, AGE)],
  ])('is invalid with %s', (_, text) => {
    expect(readStsPolicy(text)).toBeNull();
  });
});

describe('a host', () => {
  const mx = ['mail.example.com', '*.example.net'];

  test.each(['mail.example.com', 'MAIL.Example.com.', 'mx1.example.net'])('%s is one of the policy', (host) => {
    expect(mxMatches({ mx }, host)).toBe(true);
  });

  test.each([
    'example.com',
    'a.mail.example.com',
    'example.net',
    'a.b.example.net',
    'badexample.net',
    'net',
    '',
    '.example.net.evil',
  ])('%j is not', (host) => {
    expect(mxMatches({ mx }, host)).toBe(false);
  });
});

test('policies of hosts that hang do not delay one of another name', async () => {
  const looked: string[] = [];
  const failing: (() => void)[] = [];
  const { fetch, close } = createFetchStsPolicy({
    lookup: (host, _options, found) => {
      looked.push(host);
      failing.push(() => found(new Error('no such host'), []));
    },
    timeoutMs: 60_000,
  });
  onTestFinished(close);
  const asked = Array.from({ length: 100 }, (_, at) => fetch(`a${at}.slow.example`));
  asked.push(fetch('quick.example'));
  await expect.poll(() => looked).toContain('mta-sts.quick.example');
  expect(looked.length).toBeLessThan(32);
  close();
  for (const fail of failing) fail();
  expect(new Set(await Promise.all(asked))).toEqual(new Set([null]));
});
