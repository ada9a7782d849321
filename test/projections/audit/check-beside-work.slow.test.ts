import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { readPostgresOrigins } from '../../../src/adapters/request-origins.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import {
  type AuditContext,
  loadAuditLog,
  noteCosignature,
  rotateAuditKey,
  signCheckpoint,
} from '../../../src/commands/audit.ts';
import { internalOrigin } from '../../../src/commands/execute.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import type { StreamName } from '../../../src/domain/kernel/event-store.ts';
import { createCosigner, parseNote, parsePolicy } from '../../../src/lib/transparency/transparency.ts';
import { type CheckTrees, checkTrees, type TreeCheckResult } from '../../../src/projections/audit/check/check-trees.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { createAuditTrees } from '../../../src/projections/audit/tree.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryRequestOrigins } from '../../support/in-memory/request-origins.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { silentLogger } from '../../support/logger.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { createErasing } from '../../workers/erasing.ts';
import { caughtUp, openPool, startRunner } from '../support/open.ts';

const CHECKS = 1_000;
/** The log that each check reads grows with each act. */
const CHECKS_PER_ACT = 10;
const CHECKS_BESIDE_ERASURES = 40;
const TREE = 'org_mine';

const witness = createCosigner('witness.example', randomBytes(32));
const policy = parsePolicy(`witness w ${witness.verifierKey.text}\nquorum w\n`);

/** A service writes to a tree during a check. */
const actsOf = (context: AuditContext, pool: Pool, tree: string) => ({
  sign: () => signCheckpoint(context, { tree, trees: createAuditTrees(pool), host: 'mail.example' }),
  cosign: async () => {
    const { last } = (await loadAuditLog(context, tree)).state;
    if (last === null) return;
    const line = witness.signatureLine(parseNote(last.note).text, Math.floor(Date.now() / 1_000)).trimEnd();
    await noteCosignature(context, { tree, note: last.note, line });
  },
  rotate: async () => {
    const origin = internalOrigin({ actor: 'operator', organizationId: tree, causeId: tree });
    await rotateAuditKey(context, origin, tree).catch((error: unknown) => {
      // The previous key has not signed its last checkpoint yet.
      if (!(error instanceof DomainError)) throw error;
    });
  },
});

/** Runs checks, each during the next act if its turn has come. @returns the last result. */
const checkBeside = async (
  parts: Omit<CheckTrees, 'policy' | 'restShare' | 'signal'>,
  acts: readonly (() => Promise<unknown>)[],
  { checks, perAct }: { readonly checks: number; readonly perAct: number },
): Promise<TreeCheckResult | undefined> => {
  const { signal } = new AbortController();
  let last: TreeCheckResult | undefined;
  for (let check = 0; check < checks; check += 1) {
    const act = check % perAct === 0 ? acts[(check / perAct) % acts.length] : undefined;
    [last] = await Promise.all([checkTrees({ ...parts, policy, restShare: 0, signal }), act?.()]);
    expect({ check, faults: last.faults }).toEqual({ check, faults: [] });
  }
  return last;
};

test('a check beside signing, cosigning and key rotation never finds a fault', async () => {
  const pool = await openPool();
  const system = createSystem();
  const store = await createPostgresEventStore({ url: pool.url, codec: eventCodec, system, logger: silentLogger });
  onTestFinished(() => store.close());
  startRunner(pool, store, [auditProjection]);
  const { sign, cosign, rotate } = actsOf({ store, system, secrets: createInMemorySecrets() }, pool, TREE);
  const change = () => {
    const events = [{ id: system.uuid(), type: 'KeyRevoked' as const, data: { keyId: 'key_1' } }];
    const stream: StreamName = `apiKey-${system.uuid()}`;
    return store.append({ stream, expected: 'no-stream', events, context: contextAt(NOW, TREE) });
  };
  await change();
  expect(await caughtUp(pool, store, [auditProjection])).toBe(true);
  const parts = { db: pool, store, system: { ...system, now: () => new Date(NOW) } };
  const read = { ...parts, contents: createInMemoryContents(), origins: createInMemoryRequestOrigins() };
  const acts = [sign, cosign, change, sign, cosign, rotate];
  const last = await checkBeside(read, acts, { checks: CHECKS, perAct: CHECKS_PER_ACT });
  expect(last).toMatchObject({ verdict: 'no fault', anchored: { trees: 1, by: ['w'] } });
}, 600_000);

describe('a check beside a service', () => {
  const { send, erase, attempt, rounds, ...made } = createErasing();

  test('that sends and erases never finds a fault', async () => {
    const { store, system, contents } = made.context();
    const { sign, cosign } = actsOf(made.context(), made.pool(), made.organizationId());
    const mail = async () => attempt((await send()).id, 'delivered');
    const forget = async () => {
      await erase();
      await rounds(1);
    };
    const parts = { db: made.pool(), store, system, contents, origins: readPostgresOrigins(made.pool()) };
    const last = await checkBeside(parts, [mail, sign, cosign, mail, forget], {
      checks: CHECKS_BESIDE_ERASURES,
      perAct: 1,
    });
    expect(last?.contents).toBeGreaterThan(CHECKS_BESIDE_ERASURES / 4);
  }, 600_000);
});
