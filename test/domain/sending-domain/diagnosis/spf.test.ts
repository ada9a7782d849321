import { describe, expect, test } from 'vitest';
import { diagnoseSpf, type IncludedAnswers } from '../../../../src/domain/sending-domain/spf.ts';
import { sightingOf } from './sighting-of.ts';

type Texts = readonly string[] | null;

const OURS = 'bounce.service.test';

/** Names that other records include. null: the DNS does not answer. */
const DNS: Readonly<Record<string, Texts>> = {
  [OURS]: ['v=spf1 ip4:192.0.2.1 -all'],
  'fine.test': ['some text', 'v=spf1 a -all'],
  'forbids.test': ['v=spf1 -all'],
  'nothing.test': [],
  'two.test': ['v=spf1 a -all', 'v=spf1 mx -all'],
  'through.test': [`v=spf1 include:${OURS} -all`],
  'softly.test': [`v=spf1 ~include:${OURS} -all`],
  'again.test': ['v=spf1 include:again.test -all'],
  'many.test': [`v=spf1 ${'a '.repeat(8)}-all`],
  'silent.test': null,
};

const verdict = (texts: Texts, wanted: string | null, names: Readonly<Record<string, Texts>> = {}) => {
  const included: IncludedAnswers = new Map(
    Object.entries({ ...DNS, ...names }).map(([host, found]) => [host, sightingOf(host, found).answer]),
  );
  return diagnoseSpf({ ...sightingOf('example.test', texts), included }, wanted);
};
const expectVerdict = ({ state, problem }: ReturnType<typeof verdict>, wanted: string, words: RegExp | null): void => {
  expect({ state, problem }).toEqual({
    state: wanted,
    problem: words === null ? null : expect.stringMatching(words),
  });
};

describe('an SPF record without a required name', () => {
  test.each([
    ['missing', [], /no TXT record/],
    ['missing', ['google-site-verification=abc', 'v=spf10 -all', 'spf1 -all'], /no SPF record \(v=spf1/],
    ['valid', ['v=spf1 include:fine.test ip4:192.0.2.0/24 ip6:2001:db8::/32 a:x.test/24//64 -all', 'else'], null],
    ['valid', ['V=SPF1 MX ?ALL'], null],
    ['valid', ['v=spf1 +all'], null],
    ['valid', ['v=spf1 include:fine.test -all'], null],
    ['valid', ['v=spf1 redirect=Fine.test.'], null],
    ['valid', ['v=spf1 exists:%{i}.x.test redirect=nothing.test  ~all'], null],
    ['invalid', ['v=spf1 -all'], /permits no server/],
    ['invalid', ['V=SPF1'], /permits no server/],
    ['invalid', ['v=spf1 ~mx ?a -all'], /permits no server/],
    ['invalid', ['v=spf1 -all mx'], /permits no server/],
    ['invalid', ['v=spf1 include:forbids.test -all'], /permits no server/],
    ['invalid', ['v=spf1 -include:fine.test -all'], /permits no server/],
    ['invalid', ['v=spf1 include:nothing.test -all'], /includes "nothing\.test", which has no SPF record/],
    ['invalid', ['v=spf1 mx redirect=nothing.test'], /includes "nothing\.test", which has no SPF record/],
    ['invalid', ['v=spf1 mx include:two.test -all'], /"two\.test", which has an SPF record that is one of 2/],
    ['invalid', ['v=spf1 mx include:a..b -all'], /"a\.\.b", which is not a valid name/],
    ['invalid', ['v=spf1 mx include:again.test -all'], /more than the 10 DNS look-ups/],
    ['invalid', ['v=spf1 mx a include:many.test -all'], /more than the 10 DNS look-ups/],
    ['invalid', ['v=spf1 a -all', 'v=spf1 mx -all'], /is one of 2/],
    ['invalid', ['v=spf1 ipv4:192.0.2.1 -all'], /"ipv4:192\.0\.2\.1", which is not a valid SPF term/],
    ['invalid', ['v=spf1 include: -all'], /contains "include:"/],
    ['invalid', [`v=spf1 ${'include:a.test '.repeat(11)}-all`], /needs 11 DNS look-ups/],
    ['invalid', ['"v=spf1 -all"'], /contains quotes/],
    ['invalid', [`v=spf1 ${'ip4:192.0.2.1 '.repeat(700_000)}`], /too long/],
    ['unknown', ['v=spf1 include:silent.test -all'], /does not answer for silent\.test/],
    ['unknown', ['v=spf1 include:%{i}.x.test -all'], /depends on the mail/],
    ['unknown', null, /does not answer/],
  ] as const)('is %s with the texts %j', (state, texts, problem) => {
    expectVerdict(verdict(texts, null), state, problem);
  });
});

describe('an SPF record that must include a name', () => {
  test.each([
    ['valid', `v=spf1 include:${OURS} mx ~all`, null],
    ['valid', `v=spf1 +include:${OURS.toUpperCase()}. -all`, null],
    ['valid', `v=spf1 redirect=${OURS}`, null],
    ['valid', 'v=spf1 a include:through.test -all', null],
    ['valid', `v=spf1 include:silent.test include:${OURS} -all`, null],
    ['invalid', 'v=spf1 mx -all', /does not include bounce\.service\.test: add include:/],
    ['invalid', 'v=spf1 -all', /permits no server/],
    ['invalid', `v=spf1 mx -all include:${OURS}`, /does not include/],
    ['invalid', `v=spf1 mx -include:${OURS} ~all`, /does not include/],
    ['invalid', 'v=spf1 mx include:softly.test ~all', /does not include/],
    ['invalid', `v=spf1 include:${OURS} include:nothing.test -all`, /"nothing\.test", which has no SPF record/],
    ['invalid', `v=spf1 a mx include:many.test include:${OURS} -all`, /more than the 10 DNS look-ups/],
    ['unknown', 'v=spf1 mx include:silent.test -all', /does not answer for silent\.test/],
  ] as const)('is %s as %s', (state, text, problem) => {
    expectVerdict(verdict([text], OURS), state, problem);
  });

  test.each([
    ['include_broken', [], /has no SPF record\. .* the operator of this service must repair/],
    ['include_broken', ['v=spf1 -all'], /permits no server/],
    ['include_broken', ['v=spf1 a', 'v=spf1 mx'], /is one of 2/],
    ['include_broken', ['v=spf1 ip4:nonsense -all'], /which is not a valid SPF term/],
    ['unknown', null, /does not answer for bounce\.service\.test/],
  ] as const)('is %s if that name has the texts %j', (state, texts, problem) => {
    expectVerdict(verdict([`v=spf1 include:${OURS} ~all`], OURS, { [OURS]: texts }), state, problem);
    expectVerdict(verdict(['v=spf1 include:through.test ~all'], OURS, { [OURS]: texts }), state, problem);
  });
});
