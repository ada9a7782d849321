import { describe, expect, test } from 'vitest';
import {
  diagnose,
  diagnoseAlias,
  diagnoseDmarc,
  diagnoseMx,
  diagnoseOwnership,
} from '../../../../src/domain/sending-domain/diagnose.ts';
import { recordsToPublish } from '../../../../src/domain/sending-domain/records-to-publish.ts';
import { sightingOf } from './sighting-of.ts';

describe('a DMARC record', () => {
  test.each([
    ['missing', [], /no TXT record/],
    ['missing', ['p=reject; v=DMARC1'], /no DMARC record/],
    ['valid', ['v=DMARC1; p=none'], null],
    ['valid', ['v=DMARC1 ; rua=mailto:a@example.com ; p = quarantine;'], null],
    ['invalid', ['v=DMARC1; rua=mailto:a@example.com'], /"v=DMARC1; rua=mailto:…@example\.com" has no policy/],
    ['invalid', ['v=DMARC1; p=perhaps'], /p="perhaps"/],
    ['invalid', ['v=DMARC1; p=none', 'v=DMARC1; p=reject'], /this host has 2 DMARC records/],
    ['invalid', ['"v=DMARC1; p=none"'], /contains quotes/],
    ['unknown', null, /does not answer/],
  ] as const)('is %s with the texts %j', (state, texts, problem) => {
    const verdict = diagnoseDmarc(sightingOf('_dmarc.example.test', texts));
    expect(verdict.state).toBe(state);
    if (problem === null) expect(verdict.problem).toBeNull();
    else expect(verdict.problem).toMatch(problem);
  });
});

describe('the MX record', () => {
  test.each([
    ['valid', ['10 bounce.service.test'], null],
    ['valid', ['20 mx.other.test', '5 Bounce.Service.TEST.'], null],
    [
      'invalid',
      ['5 mx.other.test', '10 bounce.service.test'],
      /goes to "mx\.other\.test", but should go to bounce\.service\.test/,
    ],
    ['invalid', ['10 mx.other.test', '10 bounce.service.test'], /lead a part of the mail to other servers/],
    ['invalid', ['0 .'], /but should go to bounce\.service\.test/],
    ['missing', [], /no MX record/],
    ['unknown', null, /does not answer/],
  ] as const)('is %s with the records %j', (state, texts, problem) => {
    const verdict = diagnoseMx(sightingOf('example.test', texts), '10 bounce.service.test');
    expect(verdict.state).toBe(state);
    if (problem === null) expect(verdict.problem).toBeNull();
    else expect(verdict.problem).toMatch(problem);
  });
});

describe('the proof of ownership', () => {
  const HOST = '_outbox.example.test';
  const VALUE = 'outbox-verification=5f5f';
  test.each([
    ['valid', [VALUE], null],
    ['valid', ['outbox-verification=another', `  ${VALUE} `], null],
    ['valid', ['OUTBOX-VERIFICATION=5F5F'], null],
    ['invalid', [`"${VALUE}"`], /contains quotes: publish outbox-verification=5f5f without/],
    [
      'invalid',
      ['outbox-verification=another'],
      /is "outbox-verification=another", but should be "outbox-verification=5f5f"/,
    ],
    ['missing', [], /no TXT record/],
    ['unknown', null, /does not answer/],
  ] as const)('is %s with the texts %j', (state, texts, problem) => {
    const verdict = diagnoseOwnership(sightingOf(HOST, texts), VALUE);
    expect(verdict.state).toBe(state);
    if (problem === null) expect(verdict.problem).toBeNull();
    else expect(verdict.problem).toMatch(problem);
  });
});

describe('the return path', () => {
  const HOST = 'bounces.example.test';
  test.each([
    ['valid', ['Bounce.Service.test.', 'mx.service.test'], null],
    ['invalid', ['elsewhere.test'], /is a CNAME to elsewhere\.test, but should be a CNAME to bounce\.service\.test/],
    ['missing', [], /no CNAME record at bounces\.example\.test/],
  ] as const)('is %s if the aliases are %j', (state, aliases, problem) => {
    const verdict = diagnoseAlias(sightingOf(HOST, [], { aliases }), 'bounce.service.test');
    expect(verdict.state).toBe(state);
    if (problem === null) expect(verdict.problem).toBeNull();
    else expect(verdict.problem).toMatch(problem);
  });
});

describe('the stored part of an answer', () => {
  const domain = {
    name: 'example.test',
    token: 't',
    dkim: { active: null, pending: null, retired: [] },
    inbound: { mx: false },
  };
  const [ownership] = recordsToPublish(domain, { bounceDomain: null, trackingTarget: null });
  if (ownership === undefined) throw new Error('there is an ownership record');
  const see = (texts: readonly string[]) => diagnose(ownership, sightingOf(ownership.host, texts));

  test('is short, and contains neither mailboxes nor control characters', () => {
    const seen = see(['mailto:someone.else@example.com', `a\r\nb\0${'c'.repeat(10_000)}`, ...Array(100).fill('more')]);
    expect(seen.seen).toHaveLength(5);
    expect(seen.seen[0]).toBe('mailto:…@example.com');
    expect(seen.seen[1]).toMatch(/^a\u{fffd}\u{fffd}b\u{fffd}c+…$/u);
    expect(JSON.stringify(seen).length).toBeLessThan(4000);
    expect(JSON.stringify(seen)).not.toContain('someone');
  });
  test('is described in a sentence', () => {
    expect(see(['x']).problem).toBe('The value is "x", but should be "outbox-verification=t".');
  });
});
