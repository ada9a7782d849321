import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type EarlierCheckpoint, readCheckpoint } from '../../../../src/domain/audit/verifier/checkpoints.ts';
import {
  createCosigner,
  createSigner,
  parseNote,
  parsePolicy,
  type Signer,
} from '../../../../src/lib/transparency/transparency.ts';
import { type AuditLogWriter, createAuditLog, mended, ORIGIN, verify } from '../../../support/audit-export.ts';

const keyOf = ({ signer }: AuditLogWriter) => ({ keys: [signer.verifierKey] });
const newSigner = (): Signer => createSigner(ORIGIN, randomBytes(32));
const addKey = (log: AuditLogWriter, { verifierKey }: Signer) =>
  log.add({ type: 'AuditKeyAdded', stream: 'audit-org_mine', data: { origin: ORIGIN, vkey: verifierKey.text } });
const signedBy = (log: AuditLogWriter, ...signers: readonly Signer[]) =>
  log.note(
    log.leaves.length,
    signers.map((each) => each.signatureLine),
  );

describe('an export', () => {
  test.each([0, 1, 2, 255, 256, 257, 512, 1_000])('of %i leaves is verified', async (size) => {
    const log = createAuditLog();
    log.fill(size);
    expect(await verify(log.export(), keyOf(log))).toMatchObject({
      verdict: 'consistent',
      origin: ORIGIN,
      size,
      root: log.root(size).toString('base64'),
      faults: [],
    });
  });

  test.each([1, 100, 255, 256, 511, 700])('from leaf %i on is verified', async (from) => {
    const log = createAuditLog();
    for (const size of [150, 400, 600]) {
      log.fill(size);
      log.sign();
    }
    log.fill(700);
    const since = [{ name: 'earlier.note', signed: readCheckpoint(log.note(from)) }];
    expect(await verify(log.export({ from }), { ...keyOf(log), since })).toMatchObject({
      verdict: 'verified',
      faults: [],
    });
    const before = [{ name: 'earlier.note', signed: readCheckpoint(log.note(from - 1)) }];
    expect(await verify(log.export({ from }), { ...keyOf(log), since: before })).toMatchObject({
      verdict: 'undecided',
      doubts: [`earlier.note covers ${from - 1} leaves, which end before this export begins`],
    });
  });

  test('with another edge is not verified', async () => {
    const log = createAuditLog();
    log.fill(300);
    const edge = log.root(128).toString('base64');
    const text = log.export({ from: 128 }).replace(edge, randomBytes(32).toString('base64'));
    expect((await verify(mended(Buffer.from(text)), keyOf(log))).faults[0]).toMatch(
      'the log was changed at or after leaf 0 and before leaf 300',
    );
  });

  test('shows a gap in a stream and an id that comes twice, which were there when it was signed', async () => {
    const log = createAuditLog();
    log.add({ stream: 'message-msg_a', revision: 2, id: 'one' });
    log.add({ stream: 'message-msg_b', id: 'one' });
    log.add({ stream: 'message-msg_a', revision: 4 });
    log.add({ stream: 'message-msg_a', revision: 4 });
    expect((await verify(log.export(), keyOf(log))).faults).toEqual([
      'revisions 0 to 1 of message-msg_a are not in the log',
      'event one appears twice: at leaf 0 and at leaf 1',
      'revision 3 of message-msg_a is not in the log',
      'leaf 3: revision 4 of message-msg_a comes after revision 4',
    ]);
  });

  test('contains from the streams of destinations only what one organization did', async () => {
    const log = createAuditLog();
    log.add({ stream: 'destination-example.net', revision: 3, type: 'DestinationReleased' });
    log.add({ stream: 'destination-example.net', revision: 9, type: 'DestinationReleased' });
    expect((await verify(log.export(), keyOf(log))).verdict).toBe('consistent');
  });

  test('lacks an expected id, which is reported', async () => {
    const log = createAuditLog();
    log.add({ stream: 'message-msg_a', id: 'one' });
    const expected = ['one', 'msg_a', 'msg_b'];
    expect(await verify(log.export(), { ...keyOf(log), expected })).toMatchObject({
      verdict: 'not verified',
      faults: ['msg_b is missing from the log'],
    });
  });
});

describe('the signature of an export', () => {
  test('decides nothing without a key', async () => {
    const log = createAuditLog();
    log.fill(3);
    expect(await verify(log.export())).toMatchObject({ verdict: 'undecided', faults: [] });
  });

  test('by another key, or a forged one, is not verified', async () => {
    const log = createAuditLog();
    log.fill(3);
    const other = newSigner();
    expect((await verify(log.export(), { keys: [other.verifierKey] })).faults).toEqual([
      'the checkpoint is not signed by the given key or by a key that followed it',
    ]);
    const line = log.signer.signatureLine('something else\n');
    expect((await verify(log.export({ note: log.note(3, [() => line]) }), keyOf(log))).faults).toEqual([
      'the signature of the checkpoint is forged',
    ]);
  });

  test('is followed through a reopening, which is reported', async () => {
    const log = createAuditLog();
    addKey(log, log.signer);
    log.fill(10);
    log.sign();
    const lost = createAuditLog([...log.leaves]);
    lost.fill(40);
    const noteOf = (name: string, leaves: AuditLogWriter, size: number): EarlierCheckpoint => ({
      name,
      signed: readCheckpoint(leaves.note(size, [log.signer.signatureLine])),
    });
    const [kept, gone] = [noteOf('kept.note', log, 8), noteOf('lost.note', lost, 40)];
    const rewritten = noteOf('rewritten.note', createAuditLog(lost.leaves.toReversed()), 9);
    const second = createSigner(`${ORIGIN}/2`, randomBytes(32));
    const data = { origin: `${ORIGIN}/2`, previousOrigin: ORIGIN, previous: log.note(10), reason: 'restored\u001b[2J' };
    log.reopen(`${ORIGIN}/2`);
    log.add({ type: 'AuditReopened', stream: 'audit-org_mine', data });
    addKey(log, second);
    log.sign([log.signer, second]);
    log.add({ type: 'AuditKeyRetired', stream: 'audit-org_mine', data: { vkey: log.signer.verifierKey.text } });
    log.fill(50);
    const bytes = log.export({ note: log.note(50, [second.signatureLine]) });
    const verified = (since: readonly EarlierCheckpoint[]) => verify(bytes, { keys: [log.signer.verifierKey], since });
    expect(await verified([kept])).toMatchObject({
      verdict: 'verified',
      notices: [
        `the log was reopened at leaf 11: "restored\\u001b[2J". From "${ORIGIN}" ` +
          'it kept the first 10 signed leaves',
      ],
    });
    for (const each of [gone, rewritten]) {
      const { verdict, faults } = await verified([each]);
      expect([verdict, faults[0]]).toEqual([
        'not verified',
        expect.stringContaining('but this log does not contain all of them: it was reopened at leaf 11'),
      ]);
    }
  });

  test('may be by a later key that a trusted one vouches for', async () => {
    const log = createAuditLog();
    addKey(log, log.signer);
    log.fill(10);
    const [second, third] = [newSigner(), newSigner()];
    addKey(log, second);
    log.sign([log.signer, second]);
    log.add({ type: 'AuditKeyRetired', stream: 'audit-org_mine', data: { vkey: log.signer.verifierKey.text } });
    log.sign([second]);
    addKey(log, third);
    log.sign([second, third]);
    log.fill(300);
    const all = log.export({ note: signedBy(log, third) });
    expect(await verify(all, keyOf(log))).toMatchObject({ verdict: 'consistent', checkpoints: 3 });
    expect(await verify(all, { keys: [third.verifierKey] })).toMatchObject({ verdict: 'consistent' });
    const byFirst = await verify(log.export({ note: signedBy(log, log.signer) }), keyOf(log));
    expect(byFirst.verdict).toBe('not verified'); // the key was retired
  });

  test('may not be by a later key without a trusted one that vouches for it', async () => {
    const log = createAuditLog();
    log.fill(10);
    const second = newSigner();
    addKey(log, second);
    log.sign([second]);
    log.fill(20);
    expect((await verify(log.export({ note: signedBy(log, second) }), keyOf(log))).verdict).toBe('not verified');
  });

  test.each([
    ['is malformed', { size: 2, root: '', note: 'no note' }],
    ['does not match its own note', { size: 2, root: 'AAAA' }],
    ['covers 9 leaves, more than precede it', { size: 9 }],
  ])('of a checkpoint in a leaf that %s is a fault', async (words, data) => {
    const log = createAuditLog();
    log.fill(9);
    const note = log.note(data.size);
    log.leaves.length = 3;
    log.add({ type: 'CheckpointSigned', stream: 'audit-org_mine', data: { note, ...data } });
    expect((await verify(log.export(), keyOf(log))).faults).toEqual([`the checkpoint in leaf 3 ${words}`]);
  });
});

describe('witnesses', () => {
  const witnesses = ['w1', 'w2', 'w3'].map((name) => createCosigner(`${name}.example`, randomBytes(32)));
  const [w1, w2] = witnesses as [Signer, Signer];
  const policy = parsePolicy(
    `${witnesses.map(({ verifierKey }, at) => `witness w${at + 1} ${verifierKey.text}`).join('\n')}\ngroup two 2 w1 w2 w3\nquorum two\n`,
  );
  const cosigned = (...signers: readonly Signer[]) =>
    signers.map((each) => (text: string) => each.signatureLine(text, 1_700_000_000));
  const quorum = { policy, count: null };

  const logWith = (...signers: readonly Signer[]) => {
    const log = createAuditLog();
    log.fill(20);
    return { log, text: log.export({ note: log.note(20, [log.signer.signatureLine, ...cosigned(...signers)]) }) };
  };

  test('that are a quorum of the policy decide', async () => {
    const { log, text } = logWith(w1, w2);
    expect(await verify(text, { ...keyOf(log), quorum })).toMatchObject({
      verdict: 'verified',
      cosigners: ['w1 at 2023-11-14T22:13:20.000Z', 'w2 at 2023-11-14T22:13:20.000Z'],
    });
    expect(await verify(text, { ...keyOf(log), quorum: { policy, count: 2 } })).toMatchObject({ verdict: 'verified' });
    const missed = await verify(text, { ...keyOf(log), quorum: { policy, count: 3 } });
    expect(missed).toMatchObject({ verdict: 'undecided', doubts: ['no quorum of witnesses: cosigned by w1, w2'] });
  });

  test('that are too few leave it undecided, and how far a quorum went is reported', async () => {
    const log = createAuditLog();
    log.fill(20);
    const { signatures } = parseNote(log.note(20, cosigned(w1, w2)));
    const lines = signatures.map(
      ({ name, id, bytes }) => `\u2014 ${name} ${Buffer.concat([Buffer.from(id, 'hex'), bytes]).toString('base64')}`,
    );
    log.add({ type: 'CheckpointCosigned', stream: 'audit-org_mine', data: { size: 20, lines } });
    log.fill(30);
    expect(await verify(log.export(), { ...keyOf(log), quorum })).toMatchObject({
      verdict: 'undecided',
      doubts: ['no quorum of witnesses: cosigned by no known witness; a quorum cosigned the first 20 leaves'],
    });
  });

  test('that have cosigned another tree are a fault', async () => {
    const log = createAuditLog();
    log.fill(20);
    const other = createAuditLog();
    other.fill(20);
    const line = () => w1.signatureLine(parseNote(other.note(20)).text, 1_700_000_000);
    const text = log.export({ note: log.note(20, [log.signer.signatureLine, line]) });
    expect((await verify(text, { ...keyOf(log), quorum })).faults).toEqual(['the cosignature of w1 is forged']);
    log.add({ type: 'CheckpointCosigned', stream: 'audit-org_mine', data: { size: 20, lines: [line()] } });
    expect((await verify(log.export(), { ...keyOf(log), quorum })).faults).toEqual([
      'the cosignature of w1 in leaf 20 belongs to another tree',
    ]);
  });
});
