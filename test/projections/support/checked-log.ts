import { randomBytes } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { loadAuditLog, noteCosignature, signCheckpoint } from '../../../src/commands/audit.ts';
import { createSealingCodec } from '../../../src/domain/kernel/codec.ts';
import { createEventMacs } from '../../../src/domain/kernel/event-macs.ts';
import type { StreamName } from '../../../src/domain/kernel/event-store.ts';
import { createCosigner, parseNote, parsePolicy } from '../../../src/lib/transparency/transparency.ts';
import { type CheckTrees, checkTrees } from '../../../src/projections/audit/check/check-trees.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { createAuditTrees } from '../../../src/projections/audit/tree.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryRequestOrigins } from '../../support/in-memory/request-origins.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { silentLogger } from '../../support/logger.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { OTHER, STREAM, TREE } from './audit-changes.ts';
import { caughtUp, openPool, startRunner } from './open.ts';

export const witness = createCosigner('witness.example', randomBytes(32));
export const HOUR_MS = 3_600_000;
const POLICY = parsePolicy(`witness w ${witness.verifierKey.text}\nquorum w\n`);

/** A log in PostgreSQL with 603 leaves of one tree, two of which are checkpoints, and 5 of another. */
export const openCheckedLog = async () => {
  const pool = await openPool();
  const system = createSystem();
  const codec = createSealingCodec(createEventMacs([randomBytes(32)]));
  const store = await createPostgresEventStore({ url: pool.url, codec, system, logger: silentLogger });
  onTestFinished(() => store.close());
  const runner = startRunner(pool, store, [auditProjection]);
  const context = { store, system, secrets: createInMemorySecrets() };
  const append = async (count: number, stream: StreamName, organizationId: string) => {
    const events = Array.from({ length: count }, () => ({
      ...{ id: system.uuid(), type: 'KeyRevoked' as const, data: { keyId: 'key_1' } },
    }));
    await store.append({ stream, expected: 'no-stream', events, context: contextAt(NOW, organizationId) });
  };
  const follow = async () => expect(await caughtUp(pool, store, [auditProjection])).toBe(true);
  const sign = async (tree = TREE) => {
    await signCheckpoint(context, { tree, trees: createAuditTrees(pool), host: 'mail.example' });
    await follow();
  };
  await append(300, STREAM, TREE);
  await append(5, 'apiKey-key_5', OTHER);
  await follow();
  await sign();
  await append(300, 'apiKey-key_600', TREE);
  await follow();
  await sign();
  const check = (tree?: string, changed: Partial<CheckTrees> = {}) => {
    const { signal } = new AbortController();
    const origins = createInMemoryRequestOrigins();
    const parts = {
      db: pool,
      store,
      system: { ...system, now: () => new Date(NOW) },
      contents: createInMemoryContents(),
      origins,
      policy: POLICY,
      ...changed,
    };
    return checkTrees({ ...parts, tree, restShare: 0, signal });
  };
  const idAt = async (index: number): Promise<string> => {
    const [leaf = ''] = (await createAuditTrees(pool).leaves(TREE, 0, 3)).slice(index);
    return JSON.parse(leaf).id;
  };
  /** Records a cosignature of the last checkpoint. */
  const cosign = async (by = witness, about?: string) => {
    const { last } = (await loadAuditLog(context, TREE)).state;
    const note = last?.note ?? '';
    const line = by.signatureLine(about ?? parseNote(note).text, 1_900_000_000).trimEnd();
    await noteCosignature(context, { tree: TREE, note, line });
    await follow();
  };
  return { pool, store, context, runner, append, follow, sign, cosign, check, idAt };
};
