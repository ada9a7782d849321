import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  createCosigner,
  createSigner,
  MalformedPolicy,
  meetsQuorum,
  NO_POLICY,
  parsePolicy,
  policyText,
} from '../../../src/lib/transparency/signed-note.ts';

const log = createSigner('log.example', randomBytes(32)).verifierKey.text;
const [x1, x2, x3, y1, y2] = Array.from(
  { length: 5 },
  (_, at) => createCosigner(`w${at}.example`, randomBytes(32)).verifierKey.text,
);

const POLICY = `
# a comment
log ${log} https://log.example/

\twitness X1  ${x1} https://witness.example/
witness X2 ${x2}
witness X3 ${x3}
group X 2 X1 X2 X3
witness Y1 ${y1}
witness Y2 ${y2}
group Y any Y1 Y2
group X-and-Y all X Y
quorum X-and-Y
`;

describe('a policy', () => {
  test.each([
    [[], false],
    [['X1', 'X2', 'X3'], false],
    [['X1', 'Y1', 'Y2'], false],
    [['X1', 'X3', 'Y2'], true],
  ])('with %j cosigned is met: %j', (cosigners, isMet) => {
    const policy = parsePolicy(POLICY);
    expect(policy.logs.map(({ text }) => text)).toEqual([log]);
    expect(meetsQuorum(policy, new Set(cosigners))).toBe(isMet);
  });

  test('is written as it was read, without URLs', () => {
    const policy = parsePolicy(POLICY);
    const written = policyText(policy);
    expect(parsePolicy(written)).toEqual({ ...policy, urls: new Map() });
    expect([written.includes('https:'), policyText(NO_POLICY)]).toEqual([false, 'quorum none\n']);
  });

  test('asks for no cosignature with the quorum none', () => {
    expect(meetsQuorum(parsePolicy('quorum none'), new Set())).toBe(true);
  });

  test.each([
    ['has no quorum', `log ${log}`],
    ['has two', 'quorum none\nquorum none'],
    ['names what is not there', 'quorum w'],
    ['names what comes later', `quorum w\nwitness w ${x1}`],
    ['has an unknown line', 'quorum none\nfoo bar'],
    ['has a log twice', `log ${log}\nlog ${log}\nquorum none`],
    ['has a name twice', `witness w ${x1}\nwitness w ${x2}\nquorum w`],
    ['has a key twice', `witness w ${x1}\nwitness v ${x1}\nquorum w`],
    ['has a key of a log for a witness', `witness w ${log}\nquorum w`],
    ['has a key of a witness for a log', `log ${x1}\nquorum none`],
    ['calls a witness none', `witness none ${x1}\nquorum none`],
    ['has an empty group', 'group g all\nquorum g'],
    ['asks a group for more than it has', `witness w ${x1}\ngroup g 2 w\nquorum g`],
    ['has a member in two groups', `witness w ${x1}\ngroup g any w\ngroup h any w\nquorum g`],
    ['is endless', `${'\n'.repeat(1_001)}quorum none`],
  ])('is refused when it %s', (_, text) => {
    expect(() => parsePolicy(text)).toThrow(MalformedPolicy);
  });
});
