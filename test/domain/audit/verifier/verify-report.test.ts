import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { readCheckpoint } from '../../../../src/domain/audit/verifier/checkpoints.ts';
import type { BodyOptions } from '../../../../src/domain/audit/verifier/export-body.ts';
import { isReport, verifyReport } from '../../../../src/domain/audit/verifier/verify-report.ts';
import {
  createCosigner,
  createSigner,
  EMPTY_RANGE,
  extended,
  inclusionRanges,
  joined,
  leafHash,
  NO_POLICY,
  parsePolicy,
} from '../../../../src/lib/transparency/transparency.ts';
import { createAuditLog, ORIGIN } from '../../../support/audit-export.ts';

const SIZE = 300;
const log = createAuditLog();
while (log.leaves.length < SIZE) log.add({ type: 'KeyRevoked', stream: 'apiKey-key_1', data: { keyId: 'key_1' } });
const { verifierKey } = log.signer;

const proofOf = (index: number): readonly string[] =>
  inclusionRanges(index, SIZE).map(({ from, to }) => {
    const range = log.leaves.slice(from, to).reduce((sum, leaf) => extended(sum, leafHash(leaf)), EMPTY_RANGE);
    return joined(range.hashes).toString('base64');
  });

const eventOf = (index: number) => {
  const leaf = log.leaves[index] ?? '';
  const { id, type, metadata } = JSON.parse(leaf);
  const proof: { leaf: string; hashes: readonly string[] } | null = { leaf, hashes: proofOf(index) };
  const sentence = 'It was revoked: none of its secrets works any longer.';
  const said = { sentence, by: 'the service', request_id: metadata.requestId ?? null };
  return { at: metadata.occurredAt, ...said, type, event_id: id, leaf_index: index, proof };
};

const report = {
  object: 'audit_report',
  type: 'api_key',
  id: 'key_1',
  title: 'What happened to API key key_1',
  ...{ facts: [{ name: 'Key', value: 'key_1' }], access: [], names: [], evidence: [] },
  events: [eventOf(0), eventOf(7), eventOf(SIZE - 1)],
  checkpoint: { size: SIZE, note: log.note(SIZE) } as { note: unknown } | null,
};
type Report = typeof report;
type Event = Report['events'][number];

const verify = (changed: unknown, more: Partial<BodyOptions> = {}) => {
  const quorum = { policy: NO_POLICY, count: null };
  const options = { keys: [verifierKey], quorum, since: [], expected: [], disclosures: [], ...more };
  return verifyReport(typeof changed === 'string' ? changed : JSON.stringify(changed), options);
};

test('a report is verified by the leaves of its events, and lists what they say', () => {
  for (const text of [JSON.stringify(report), JSON.stringify(report, null, 2)]) {
    expect(isReport(text.slice(0, 64))).toBe(true);
    expect(verify(text)).toMatchObject({ verdict: 'consistent', origin: ORIGIN, size: SIZE, faults: [], doubts: [] });
  }
  expect(verify(report).disclosed[1]).toMatch(/^leaf 7, event \S+: KeyRevoked, 2026-11-21T12:00:00.000Z, by /);
});

test('a report that hides an operator is not verified', () => {
  const own = createAuditLog();
  const operator = { user: 'kim', host: 'mail-1' };
  own.add({
    type: 'KeyRevoked',
    stream: 'apiKey-key_1',
    data: { keyId: 'key_1' },
    metadata: { actor: 'operator', operator },
  });
  const [leaf = ''] = own.leaves;
  const { id, type, metadata } = JSON.parse(leaf);
  const event = { at: metadata.occurredAt, type, event_id: id, leaf_index: 0, proof: { leaf, hashes: [] } };
  const sentence = 'It was revoked: none of its secrets works any longer.';
  const verdictOf = (by: string) =>
    verify(
      {
        ...report,
        events: [{ ...event, sentence, by, request_id: metadata.requestId ?? null }],
        checkpoint: { size: 1, note: own.note(1) },
      },
      { keys: [own.signer.verifierKey] },
    );
  expect(verdictOf('the operator of the service (kim at mail-1)').faults).toEqual([]);
  expect(verdictOf('the service').faults).toEqual([
    expect.stringContaining('who did it: the report says "the service"'),
  ]);
});

test.each([
  ['api_key', 'KeyCreated', { keyId: 'key_1' }],
  ['access_review', 'MemberInvited', { memberId: 'mbr_1', role: 'king' }],
])('a report (%s) about a leaf with data of another kind is not verified', (kind, type, data) => {
  const own = createAuditLog();
  own.add({ type, stream: 'apiKey-key_1', data, metadata: { actor: 'service' } });
  const [leaf = ''] = own.leaves;
  const { id, metadata } = JSON.parse(leaf);
  const said = { sentence: 'It was.', by: 'the service', request_id: metadata.requestId ?? null };
  const event = { at: metadata.occurredAt, ...said, type, event_id: id, leaf_index: 0, proof: { leaf, hashes: [] } };
  const made = { ...report, type: kind, id: 'key_1', events: [event], checkpoint: { size: 1, note: own.note(1) } };
  expect(verify(made, { keys: [own.signer.verifierKey] }).faults).toEqual(['a leaf is not an event of this service']);
});

const withEvent = (change: (event: Event) => object): object => ({
  ...report,
  events: report.events.map((event, index) => (index === 1 ? { ...event, ...change(event) } : event)),
});
const ofProof = (change: (proof: NonNullable<Event['proof']>) => object) =>
  withEvent(({ proof }) => ({ proof: { ...proof, ...(proof === null ? {} : change(proof)) } }));

/** The signature line of another note. */
const forgedBy = (note: string): string => `${note.trimEnd().split('\n').at(-1)}\n`;

const NOT_SIGNED = /is not leaf .* of the signed log/;

test.each<[string, unknown, RegExp]>([
  [
    'another time',
    withEvent(() => ({ at: '2020-01-01T00:00:00.000Z' })),
    /the report and leaf 7 have different values for its time/,
  ],
  [
    'another type',
    withEvent(() => ({ type: 'KeyDeleted' })),
    /the report and leaf 7 have different values for its type/,
  ],
  ['another id', withEvent(() => ({ event_id: 'x' })), /the report and leaf 7 have different values for its id/],
  ['another leaf', ofProof(({ leaf }) => ({ leaf: leaf.replace('key_', 'key-') })), NOT_SIGNED],
  ['a leaf that is no JSON', ofProof(() => ({ leaf: '{' })), NOT_SIGNED],
  ['a leaf that is no text', ofProof(() => ({ leaf: [1] })), NOT_SIGNED],
  ['another hash', ofProof(({ hashes }) => ({ hashes: hashes.toReversed() })), NOT_SIGNED],
  ['a hash less', ofProof(({ hashes }) => ({ hashes: hashes.slice(1) })), NOT_SIGNED],
  ['no hashes', ofProof(() => ({ hashes: null })), NOT_SIGNED],
  ...[8, -1, 0.5, SIZE, 2 ** 53, '7', null].map((index): [string, unknown, RegExp] => [
    `leaf ${JSON.stringify(index)}`,
    withEvent(() => ({ leaf_index: index })),
    NOT_SIGNED,
  ]),
  ['an invalid event', { ...report, events: [null] }, /this is not a report/],
  ['no events', { ...report, events: 1 }, /this is not a report/],
  ['half of its bytes', JSON.stringify(report).slice(0, 900), /this is not a report/],
  ['a checkpoint of another size', { ...report, checkpoint: { note: log.note(SIZE - 1) } }, NOT_SIGNED],
  ['an invalid note', { ...report, checkpoint: { note: 'x' } }, /its checkpoint is malformed/],
  ['a note that is no text', { ...report, checkpoint: { note: 7 } }, /its checkpoint is malformed/],
  ['no note', { ...report, checkpoint: undefined }, /its checkpoint is malformed/],
  [
    'a forged signature',
    { ...report, checkpoint: { note: log.note(SIZE, [() => forgedBy(log.note(SIZE - 1))]) } },
    /the signature of the checkpoint is forged/,
  ],
])('a report with %s is not verified', (_, changed, fault) => {
  const { verdict, faults } = verify(changed);
  expect([verdict, faults.join('\n')]).toEqual(['not verified', expect.stringMatching(fault)]);
});

test('a report is undecided without the key that signed, without a signature yet, or a quorum', () => {
  const witness = createCosigner('w.example', randomBytes(32)).verifierKey.text;
  const policy = parsePolicy(`witness w ${witness}\nquorum w\n`);
  const stranger = createSigner(ORIGIN, randomBytes(32)).verifierKey;
  for (const [changed, more, doubt] of [
    [report, { keys: [] }, /no key was given/],
    [report, { keys: [stranger] }, /signed by a different key/],
    [withEvent(() => ({ proof: null })), {}, /is not in a signed checkpoint/],
    [{ ...report, checkpoint: null }, {}, /none of its events were signed/],
    [report, { quorum: { policy, count: null } }, /no quorum of witnesses has cosigned/],
    [report, { since: [{ name: 'kept.note', signed: null }] }, /kept.note can only be compared with an export/],
    [report, { expected: ['msg_1'] }, /need an export, not a report/],
  ] as const) {
    const { verdict, doubts, faults } = verify(changed, more);
    expect([verdict, faults, doubts[0]]).toEqual(['undecided', [], expect.stringMatching(doubt)]);
  }
});

test('a report is compared with a kept checkpoint of as many leaves', () => {
  const kept = (by: typeof log) => [
    { name: 'kept.note', signed: readCheckpoint(by.note(SIZE, [log.signer.signatureLine])) },
  ];
  expect(verify(report, { since: kept(log) })).toMatchObject({ verdict: 'verified', faults: [], doubts: [] });
  const rewritten = createAuditLog(log.leaves.toReversed());
  expect(verify(report, { since: kept(rewritten) })).toMatchObject({
    verdict: 'not verified',
    faults: [
      `kept.note has a different root for the first ${SIZE} leaves than this report. Keep both: together they prove that the log was rewritten`,
    ],
  });
});

test('words of a report are shown without control sequences for a terminal', () => {
  const { faults } = verify(withEvent(() => ({ event_id: '\u001b[2J\u202ex' })));
  expect(faults).toEqual([
    expect.stringMatching(/^event \?\[2J\?x: the report and leaf \d+ have different values for its id/),
  ]);
});
