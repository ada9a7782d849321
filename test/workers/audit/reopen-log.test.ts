import { randomBytes } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import {
  LogContradiction,
  loadAuditLog,
  noteDispute,
  reopenAuditLog,
  rotateAuditKey,
} from '../../../src/commands/audit.ts';
import { internalOrigin } from '../../../src/commands/execute.ts';
import { auditStream } from '../../../src/domain/kernel/streams.ts';
import {
  ADD_CHECKPOINT,
  addCheckpointBody,
  checkpointText,
  createCosigner,
  createSigner,
  leafHash,
  parseCheckpoint,
  parseVerifierKey,
  SIZE_MEDIA_TYPE,
  signedAt,
  signedNote,
} from '../../../src/lib/transparency/transparency.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { rebuild } from '../../../src/projections/runner.ts';
import { silentLogger } from '../../support/logger.ts';
import { startOtherWitness, startWitness } from '../../support/witness.ts';
import { TREE } from './signed-log.ts';
import { openWitnessed, PATIENCE } from './witnessed-log.ts';

/** A log whose witness has cosigned more leaves than it contains: it was restored from an older copy. */
const restored = async () => {
  const opened = await openWitnessed();
  const witness = await startWitness();
  await opened.append(5);
  const key = await opened.sign();
  witness.logs.push(key);
  const { signing } = (await loadAuditLog(opened.context, TREE)).state;
  const seed = (await opened.context.secrets.get(signing?.key.secretId ?? '')) ?? '';
  const text = checkpointText({ origin: key.name, size: 50, root: leafHash('lost') });
  const lost = signedNote(text, [createSigner(key.name, Buffer.from(seed, 'base64')).signatureLine(text)]);
  const body = addCheckpointBody({ oldSize: 0, proof: [], note: lost });
  expect((await fetch(`${witness.url}${ADD_CHECKPOINT}`, { method: 'POST', body })).status).toBe(200);
  opened.ask([{ key: witness.signer.verifierKey, url: witness.url }]);
  await vi.waitFor(async () => expect(await opened.trees.disputed()).toBe(1), PATIENCE);
  return { ...opened, key, witness };
};

const operator = internalOrigin({ actor: 'operator', organizationId: TREE, causeId: 'restore' });

describe('a log shorter than what a witness has cosigned', () => {
  test('is recorded once, and no longer signed', async () => {
    const { append, sign, store, alarms, trees, pool } = await restored();
    expect(alarms[0]).toMatch(/a witness has cosigned 50 leaves/);
    await append(3);
    for (let round = 0; round < 2; round += 1) await expect(sign()).rejects.toThrow(LogContradiction);
    const events = await store.readStream(auditStream(TREE));
    expect(events.filter(({ type }) => type === 'AuditDisputed')).toMatchObject([
      { data: { size: 5, witness: 'w0', cosignedSize: 50 } },
    ]);
    expect((await trees.unsigned(10)).map(({ tree }) => tree)).toEqual([TREE]);
    await rebuild({ pool, store, logger: silentLogger }, [auditProjection]);
    expect(await trees.disputed()).toBe(1);
  });

  test('is recorded even if it is signed again before each answer of the witness', async () => {
    const { append, sign, ask, trees, alarms } = await openWitnessed();
    await append(5);
    await sign();
    const url = await startOtherWitness(async (_, response) => {
      await append();
      await sign().catch(() => undefined);
      response.writeHead(409, { 'content-type': SIZE_MEDIA_TYPE }).end('1000\n');
    });
    ask([{ key: createCosigner('other.example', randomBytes(32)).verifierKey, url }]);
    await vi.waitFor(async () => expect(await trees.disputed()).toBe(1), PATIENCE);
    expect(alarms).toEqual([expect.stringMatching(/has cosigned 1000 leaves/)]);
    await expect(sign()).rejects.toThrow(LogContradiction);
  });

  test('is not reported if another process has shown the witness a later checkpoint', async () => {
    const { append, sign, context, newest, trees } = await openWitnessed();
    await append(5);
    await sign();
    const note = (await trees.checkpoints({ tree: TREE, limit: 1 }))[0]?.note ?? '';
    await append();
    await sign();
    const { size } = parseCheckpoint((await newest()).text);
    const said = (cosignedSize: number) => noteDispute(context, { tree: TREE, note, witness: 'w', cosignedSize });
    expect(await said(size)).toBe(false);
    expect(await said(size + 1)).toBe(true);
  });

  test('is signed again under another origin once it is reopened, the first time with the previous key', async () => {
    const { append, sign, context, trees, witness, isCosignedBy, newest, key } = await restored();
    const { vkey, origin } = await reopenAuditLog(context, operator, { tree: TREE, reason: 'restored' });
    expect(origin).toBe(`${key.name}/2`);
    const second = parseVerifierKey(vkey);
    witness.logs.push(second);
    await append();
    expect(await trees.disputed()).toBe(0);
    await sign();
    expect((await newest()).text.startsWith(`${origin}\n`)).toBe(true);
    expect([signedAt(await newest(), key), signedAt(await newest(), second)]).toEqual([0, 0]);
    await isCosignedBy(witness.signer.verifierKey);
    await append();
    await sign();
    expect([signedAt(await newest(), key), signedAt(await newest(), second)]).toEqual([null, 0]);
    await isCosignedBy(witness.signer.verifierKey);
    expect(await trees.disputed()).toBe(0);
    const third = await reopenAuditLog(context, operator, { tree: TREE, reason: 'again' });
    expect(third.origin).toBe(`${key.name}/3`);
  });

  test('is signed by the key that verifiers trust, also when a new key has not signed yet', async () => {
    const { append, sign, context, newest } = await openWitnessed();
    await append(5);
    const trusted = await sign();
    const unused = parseVerifierKey(await rotateAuditKey(context, operator, TREE));
    const { vkey } = await reopenAuditLog(context, operator, { tree: TREE, reason: 'restored' });
    await append();
    await sign();
    const keys = [trusted, unused, parseVerifierKey(vkey)];
    expect(await Promise.all(keys.map(async (key) => signedAt(await newest(), key)))).toEqual([0, null, 0]);
  });

  test('cannot be reopened before anything was signed', async () => {
    const { context } = await openWitnessed();
    await expect(reopenAuditLog(context, operator, { tree: TREE, reason: 'x' })).rejects.toThrow(
      'nothing has been signed',
    );
  });
});
