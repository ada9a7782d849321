import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readCheckpoint } from '../../../../src/domain/audit/verifier/checkpoints.ts';
import { createSigner, type Signer } from '../../../../src/lib/transparency/transparency.ts';
import { type AuditLogWriter, createAuditLog, exportOf, ORIGIN, verify } from '../../../support/audit-export.ts';

// Exports that a stranger builds from public data (leaves, genuine checkpoints) with their own key. The hashes,
// checksums and signatures are all consistent. Only the chain of trust is not.

const trusted = ({ signer }: AuditLogWriter) => ({ keys: [signer.verifierKey] });
const stranger = (): Signer => createSigner(ORIGIN, randomBytes(32));

const announce = (log: AuditLogWriter, { verifierKey }: Signer): void => {
  log.add({ type: 'AuditKeyAdded', stream: 'audit-org_mine', data: { origin: ORIGIN, vkey: verifierKey.text } });
};
const repeat = (log: AuditLogWriter, note: string, size: number): void => {
  const root = log.root(size).toString('base64');
  log.add({ type: 'CheckpointSigned', stream: 'audit-org_mine', data: { size, root, note } });
};
const signedBy = (log: AuditLogWriter, { signatureLine }: Signer): string =>
  log.note(log.leaves.length, [signatureLine]);

const genuine = (size: number): AuditLogWriter => {
  const log = createAuditLog();
  announce(log, log.signer);
  log.fill(size);
  return log;
};

describe('a key that a stranger announces', () => {
  test.each([
    ['in the first leaf behind a genuine checkpoint', 0],
    ['later behind a genuine checkpoint', 3],
  ])('%s signs nothing', async (_, distance) => {
    const log = genuine(10);
    const checkpoint = log.note(10);
    log.fill(10 + distance);
    const forger = stranger();
    announce(log, forger);
    repeat(log, checkpoint, 10);
    log.fill(30);
    const { verdict, faults } = await verify(log.export({ note: signedBy(log, forger) }), trusted(log));
    expect([verdict, faults]).toEqual([
      'not verified',
      ['the checkpoint is not signed by the given key or by a key that followed it'],
    ]);
  });

  test('and signs with in a leaf vouches for no other', async () => {
    const log = genuine(10);
    const [first, second] = [stranger(), stranger()];
    announce(log, first);
    repeat(log, signedBy(log, first), log.leaves.length);
    announce(log, second);
    repeat(log, signedBy(log, second), log.leaves.length);
    expect((await verify(log.export({ note: signedBy(log, second) }), trusted(log))).verdict).toBe('not verified');
  });

  test('is trusted once a genuine checkpoint covers its leaf', async () => {
    const log = genuine(10);
    const next = stranger();
    announce(log, next);
    repeat(log, log.note(11), 11);
    log.fill(30);
    expect(await verify(log.export({ note: signedBy(log, next) }), trusted(log))).toMatchObject({
      verdict: 'consistent',
      faults: [],
    });
  });
});

describe('a key of the log', () => {
  test('stays announced while checkpoints of fewer leaves follow', async () => {
    const log = genuine(10);
    const next = stranger();
    announce(log, next);
    repeat(log, log.note(10), 10);
    repeat(log, log.note(12), 12);
    const note = signedBy(log, next);
    expect((await verify(log.export({ note }), trusted(log))).verdict).toBe('consistent');
  });

  test('may sign the leaf that retires it, and nothing after it', async () => {
    const log = genuine(10);
    const next = stranger();
    announce(log, next);
    log.add({ type: 'AuditKeyRetired', stream: 'audit-org_mine', data: { vkey: log.signer.verifierKey.text } });
    repeat(log, log.note(11), 11);
    expect((await verify(log.export(), trusted(log))).verdict).toBe('consistent');
    repeat(log, log.note(13), 13);
    expect((await verify(log.export(), trusted(log))).verdict).toBe('not verified');
  });

  test('is announced by the checkpoint at the end for checkpoints kept elsewhere', async () => {
    const log = genuine(10);
    const next = stranger();
    announce(log, next);
    log.fill(20);
    const since = [{ name: 'kept.note', signed: readCheckpoint(log.note(15, [next.signatureLine])) }];
    expect(await verify(log.export(), { ...trusted(log), since })).toMatchObject({ verdict: 'verified', doubts: [] });
  });
});

describe('a retired key', () => {
  const withRetired = () => {
    const log = genuine(10);
    const next = stranger();
    announce(log, next);
    repeat(log, log.note(11), 11);
    log.add({ type: 'AuditKeyRetired', stream: 'audit-org_mine', data: { vkey: log.signer.verifierKey.text } });
    const retiredAt = log.leaves.length - 1;
    repeat(log, signedBy(log, next), log.leaves.length);
    log.fill(30);
    return { log, next, retiredAt };
  };

  test('signs nothing that includes the leaf that retires it', async () => {
    const { log, next, retiredAt } = withRetired();
    const bytes = log.export({ note: signedBy(log, next) });
    const earlier = (size: number) => [{ name: 'kept.note', signed: readCheckpoint(log.note(size)) }];
    const by = (size: number) => verify(bytes, { ...trusted(log), since: earlier(size) });
    expect(await by(retiredAt)).toMatchObject({ verdict: 'verified', doubts: [] });
    expect(await by(retiredAt + 1)).toMatchObject({
      verdict: 'undecided',
      doubts: ['kept.note is not signed by a key of this log'],
    });
  });
});

describe('leaves after the signed ones', () => {
  test.each([1, 2, 300])('%i of them are a fault', async (more) => {
    const log = genuine(10);
    const note = log.note(10);
    log.fill(10 + more);
    const bytes = exportOf(log.leaves, { from: 0, size: 10, edge: [], note });
    expect(await verify(bytes, trusted(log))).toMatchObject({
      verdict: 'not verified',
      faults: expect.arrayContaining(['there are leaves after leaf 9, the last signed one']),
    });
  });

  test.each([1, 2, 9])('%i missing before them are a fault', async (missing) => {
    const log = genuine(10);
    const bytes = exportOf(log.leaves.slice(0, 10 - missing), { from: 0, size: 10, edge: [], note: log.note(10) });
    const { verdict, faults } = await verify(bytes, trusted(log));
    expect([verdict, faults]).toEqual([
      'not verified',
      expect.arrayContaining([expect.stringMatching(/^leaves \d+ to 9 are missing/)]),
    ]);
  });

  test('a header that names another log than the checkpoint is a fault', async () => {
    const log = genuine(10);
    log.reopen('other.example/log');
    const bytes = exportOf(log.leaves, { from: 0, size: 10, edge: [], note: log.note(10) });
    expect(await verify(bytes, trusted(log))).toMatchObject({
      verdict: 'not verified',
      faults: ['the header does not match the checkpoint, which covers 10 leaves of other.example/log'],
    });
  });

  test('a header that promises another size than the checkpoint is a fault', async () => {
    const log = genuine(10);
    const note = log.note(10);
    log.fill(12);
    const bytes = exportOf(log.leaves, { from: 0, size: 12, edge: [], note });
    expect((await verify(bytes, trusted(log))).verdict).toBe('not verified');
  });
});

describe('an honest log', () => {
  const kept = (log: AuditLogWriter, name: string, size: number, lines = [log.signer.signatureLine]) => ({
    name,
    signed: readCheckpoint(log.note(size, lines)),
  });

  test.each([1, 9, 10, 29, 30])('agrees with its own checkpoint of %i leaves', async (size) => {
    const log = genuine(30);
    const since = [kept(log, 'kept.note', size)];
    expect(await verify(log.export(), { ...trusted(log), since })).toMatchObject({
      verdict: 'verified',
      faults: [],
      doubts: [],
    });
  });

  test.each(['a signature of a stranger', 'no signature'])(
    'is not called rewritten by a checkpoint with %s',
    async (who) => {
      const log = genuine(30);
      const other = createAuditLog(log.leaves.toReversed());
      const lines = who === 'no signature' ? [] : [stranger().signatureLine];
      const since = [kept(other, 'planted.note', 20, lines)];
      const { verdict, faults } = await verify(log.export(), { ...trusted(log), since });
      expect([verdict === 'verified', faults.filter((each) => each.includes('rewritten'))]).toEqual([false, []]);
    },
  );

  test('is not called rewritten by a checkpoint that its key signed for another log', async () => {
    const log = genuine(30);
    const other = createAuditLog(log.leaves.toReversed());
    other.reopen('other.example/log');
    const since = [kept(other, 'planted.note', 20, [log.signer.signatureLine])];
    expect(await verify(log.export(), { ...trusted(log), since })).toMatchObject({
      verdict: 'undecided',
      faults: [],
      doubts: ['planted.note belongs to another log, other.example/log'],
    });
  });

  test('is not called rewritten by a key that the checkpoint at the end cannot vouch for', async () => {
    const log = genuine(10);
    const forger = stranger();
    announce(log, forger);
    log.fill(30);
    const other = createAuditLog(log.leaves.toReversed());
    const since = [kept(other, 'planted.note', 20, [forger.signatureLine])];
    expect(await verify(log.export({ note: signedBy(log, forger) }), { ...trusted(log), since })).toMatchObject({
      faults: ['the checkpoint is not signed by the given key or by a key that followed it'],
      doubts: ['planted.note is not signed by a key of this log'],
    });
  });

  test('is not called rewritten by a checkpoint of its retired key over leaves of a later time', async () => {
    const log = genuine(10);
    const next = stranger();
    announce(log, next);
    repeat(log, log.note(11), 11);
    log.add({ type: 'AuditKeyRetired', stream: 'audit-org_mine', data: { vkey: log.signer.verifierKey.text } });
    repeat(log, signedBy(log, next), log.leaves.length);
    log.fill(30);
    const other = createAuditLog(log.leaves.toReversed());
    const since = [kept(other, 'stolen.note', 25, [log.signer.signatureLine])];
    expect(await verify(log.export({ note: signedBy(log, next) }), { ...trusted(log), since })).toMatchObject({
      verdict: 'undecided',
      faults: [],
      doubts: ['stolen.note is not signed by a key of this log'],
    });
  });
});

describe('a checkpoint in a leaf', () => {
  test.each([
    ['of another size than its note', { size: 9 }],
    ['of another root than its note', { root: randomBytes(32).toString('base64') }],
  ])('%s is a fault', async (_, said) => {
    const log = genuine(10);
    const data = { size: 10, root: log.root(10).toString('base64'), note: log.note(10), ...said };
    log.add({ type: 'CheckpointSigned', stream: 'audit-org_mine', data });
    expect((await verify(log.export(), trusted(log))).faults).toEqual([
      'the checkpoint in leaf 10 does not match its own note',
    ]);
  });

  test('of leaves that do not come before it is a fault', async () => {
    const log = genuine(10);
    const longer = genuine(20);
    const note = longer.note(20, [log.signer.signatureLine]);
    const data = { size: 20, root: longer.root(20).toString('base64'), note };
    log.add({ type: 'CheckpointSigned', stream: 'audit-org_mine', data });
    expect((await verify(log.export(), trusted(log))).faults).toEqual([
      'the checkpoint in leaf 10 covers 20 leaves, more than precede it',
    ]);
  });
});

test.each([
  ['has a space', (leaf: string) => leaf.replace('"revision":', '"revision": ')],
  ['has its members in another order', (leaf: string) => leaf.replace(/("revision":\d+),("stream":"[^"]+")/, '$2,$1')],
  ['has a member more', (leaf: string) => leaf.replace('"revision"', '"more":1,"revision"')],
])('a leaf that %s is a fault, though it was signed', async (_, change) => {
  const log = genuine(10);
  log.leaves[4] = change(log.leaves[4] ?? '');
  const { verdict, faults } = await verify(log.export(), trusted(log));
  expect([verdict, faults]).toEqual([
    'not verified',
    expect.arrayContaining(['leaf 4 is not an event in canonical JSON']),
  ]);
});

describe('a rewritten log', () => {
  test.each([5, 20, 30])('is shown by a kept checkpoint of %i leaves', async (size) => {
    const log = genuine(30);
    const since = [{ name: 'kept.note', signed: readCheckpoint(log.note(size)) }];
    const rewritten = createAuditLog([...log.leaves.slice(0, 4), ...log.leaves.slice(4).toReversed()]);
    const note = rewritten.note(30, [log.signer.signatureLine]);
    const { verdict, faults } = await verify(rewritten.export({ note }), { ...trusted(log), since });
    expect([verdict, faults.some((each) => each.includes('the log was rewritten'))]).toEqual(['not verified', true]);
  });

  test('is shown by a kept checkpoint beyond its end', async () => {
    const log = genuine(30);
    const since = [{ name: 'kept.note', signed: readCheckpoint(log.note(30)) }];
    const { verdict, faults } = await verify(log.export({ size: 20 }), { ...trusted(log), since });
    expect([verdict, faults]).toEqual([
      'not verified',
      ['the earlier checkpoint kept.note covers 30 leaves, but this export ends after 20. Keep both'],
    ]);
  });
});
