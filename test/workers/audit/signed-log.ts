import { expect } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { signCheckpoint } from '../../../src/commands/audit.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { StreamName } from '../../../src/domain/kernel/event-store.ts';
import { auditStream } from '../../../src/domain/kernel/streams.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { createAuditTrees } from '../../../src/projections/audit/tree.ts';
import { caughtUp, openPool, startRunner } from '../../projections/support/open.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { contextAt, NOW } from '../../support/specification.ts';

export const TREE = 'org_mine';

/** A log with signed audit trees. */
export const openSigned = async () => {
  const pool = await openPool();
  const system = createSystem();
  const store = createInMemoryEventStore({ codec: eventCodec, system });
  startRunner(pool, store, [auditProjection]);
  const context = { store, system, secrets: createInMemorySecrets() };
  const trees = createAuditTrees(pool);
  const followed = async () => expect(await caughtUp(pool, store, [auditProjection])).toBe(true);
  const append = async (
    count = 1,
    stream: StreamName = `apiKey-key_${system.uuid().slice(-12)}`,
    organizationId = TREE,
  ) => {
    const events = Array.from({ length: count }, () => ({
      id: system.uuid(),
      type: 'KeyRevoked' as const,
      data: { keyId: 'key_1' },
    }));
    await store.append({ stream, expected: 'no-stream', events, context: contextAt(NOW, organizationId) });
    await followed();
  };
  /** @returns all checkpoints of the tree. */
  const sign = async (tree = TREE) => {
    await signCheckpoint(context, { tree, trees, host: 'mail.example' });
    await followed();
    return (await store.readStream(auditStream(tree))).filter(({ type }) => type === 'CheckpointSigned');
  };
  return { pool, store, context, trees, append, followed, sign };
};
