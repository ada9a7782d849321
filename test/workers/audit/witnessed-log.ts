import { expect, onTestFinished, vi } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createHttpWitnesses } from '../../../src/adapters/witnesses/http.ts';
import { loadAuditLog, signCheckpoint } from '../../../src/commands/audit.ts';
import { parseNote, parseVerifierKey, signedAt, type VerifierKey } from '../../../src/domain/audit/signed-note.ts';
import { eventCodec } from '../../../src/domain/codec.ts';
import { auditStream } from '../../../src/domain/streams.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { createAuditTrees } from '../../../src/projections/audit/tree.ts';
import { askWitnesses } from '../../../src/workers/audit/ask-witnesses.ts';
import { caughtUp, openPool, startRunner } from '../../projections/support/open.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { silentLogger } from '../../support/logger.ts';
import { contextAt, NOW } from '../../support/specification.ts';

export const TREE = 'org_mine';
export const PATIENCE = { timeout: 20_000, interval: 50 };

/** A log with its audit tree, and witnesses that are asked about it. */
export const openWitnessed = async () => {
  const pool = await openPool();
  const system = createSystem();
  const store = createInMemoryEventStore({ codec: eventCodec, system });
  startRunner(pool, store, [auditProjection]);
  const context = { store, system, secrets: createInMemorySecrets() };
  const trees = createAuditTrees(pool);
  const alarms: string[] = [];
  const logger = { ...silentLogger, error: (_: object, text: string) => alarms.push(text) };
  const followed = async () => expect(await caughtUp(pool, store, [auditProjection])).toBe(true);
  const append = async (count = 1) => {
    const events = Array.from({ length: count }, () => ({
      id: system.uuid(),
      type: 'KeyRevoked' as const,
      data: { keyId: 'key_1' },
    }));
    const stream = `apiKey-key_${system.uuid().slice(-12)}` as const;
    await store.append({ stream, expected: 'no-stream', events, context: contextAt(NOW, TREE) });
    await followed();
  };
  const sign = async (): Promise<VerifierKey> => {
    await signCheckpoint(context, { tree: TREE, trees, host: 'mail.example' });
    await followed();
    return parseVerifierKey((await loadAuditLog(context, TREE)).state.signing?.key.vkey ?? '');
  };
  /** Asks these, as a process that leads does. @returns ends it. */
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
  return { pool, store, context, trees, append, sign, ask, newest, cosigned, isCosignedBy, alarms };
};
