import { expect, onTestFinished, vi } from 'vitest';
import { createHttpWitnesses } from '../../../src/adapters/witnesses.ts';
import { loadAuditLog } from '../../../src/commands/audit.ts';
import { auditStream } from '../../../src/domain/kernel/streams.ts';
import { parseNote, parseVerifierKey, signedAt, type VerifierKey } from '../../../src/lib/transparency/transparency.ts';
import { askWitnesses } from '../../../src/workers/audit/ask-witnesses.ts';
import { silentLogger } from '../../support/logger.ts';
import { openSigned, TREE } from './signed-log.ts';

export const PATIENCE = { timeout: 20_000, interval: 50 };

/** A log with its audit tree, and witnesses for it. */
export const openWitnessed = async () => {
  const { sign: signTree, ...log } = await openSigned();
  const { store, context, trees } = log;
  const alarms: string[] = [];
  const logger = { ...silentLogger, error: (_: object, text: string) => alarms.push(text) };
  const sign = async (): Promise<VerifierKey> => {
    await signTree();
    return parseVerifierKey((await loadAuditLog(context, TREE)).state.signing?.key.vkey ?? '');
  };
  /** Asks these witnesses, like the leading process. @returns a function that stops it. */
  const ask = (witnesses: readonly { readonly key: VerifierKey; readonly url: string }[]) => {
    const way = createHttpWitnesses();
    const ending = new AbortController();
    const named = witnesses.map((each, n) => ({ ...each, name: `w${n}` }));
    const leadership = { isLeader: () => true };
    const options = { ...context, trees, way, leadership, logger: logger as typeof silentLogger, everyMs: 20 };
    const loops = Object.values(askWitnesses(options, named)).map((work) =>
      work(ending.signal, () => undefined).catch(() => undefined),
    );
    const end = async () => {
      ending.abort();
      await Promise.all(loops);
      await way.close();
    };
    onTestFinished(end);
    return end;
  };
  const newest = async () => parseNote((await trees.checkpoints({ tree: TREE, limit: 1 }))[0]?.note ?? '');
  const cosigned = async () =>
    (await store.readStream(auditStream(TREE))).filter(({ type }) => type === 'CheckpointCosigned');
  const isCosignedBy = (key: VerifierKey) =>
    vi.waitFor(async () => expect(signedAt(await newest(), key)).toBeGreaterThan(1_600_000_000), PATIENCE);
  return { ...log, sign, ask, newest, cosigned, isCosignedBy, alarms };
};
