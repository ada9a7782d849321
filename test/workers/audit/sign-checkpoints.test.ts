import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LogContradiction, loadAuditLog, rotateAuditKey, signCheckpoint } from '../../../src/commands/audit.ts';
import { internalOrigin } from '../../../src/commands/execute.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { auditStream } from '../../../src/domain/kernel/streams.ts';
import { parseCheckpoint, parseNote, parseVerifierKey, signedAt } from '../../../src/lib/transparency/transparency.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { ChangedLog } from '../../../src/projections/audit/tree.ts';
import { rebuild } from '../../../src/projections/runner.ts';
import { type AuditQueries, signCheckpoints } from '../../../src/workers/audit/audit-jobs.ts';
import { silentLogger } from '../../support/logger.ts';
import { openSigned, TREE } from './signed-log.ts';

describe('a checkpoint', () => {
  test('is signed by a key of its tree, and covers all leaves so far', async () => {
    const { append, sign, trees, store } = await openSigned();
    await append(300);
    const [signed] = await sign();
    if (signed?.type !== 'CheckpointSigned') throw new Error('nothing was signed');
    const note = parseNote(signed.data.note);
    expect(signedAt(note, parseVerifierKey(signed.data.vkey))).toBe(0);
    expect(parseCheckpoint(note.text)).toEqual({
      origin: `mail.example/v1/audit/tlog/${TREE}`,
      size: 300,
      root: await trees.root(TREE, 300),
    });
    expect((await store.readStream(auditStream(TREE))).map(({ type }) => type)).toEqual([
      'AuditKeyAdded',
      'CheckpointSigned',
    ]);
  });

  test('is not signed again for its own event, and by the same key when there is more', async () => {
    const { append, sign, trees } = await openSigned();
    await append(3);
    await sign();
    expect(await trees.unsigned(10)).toEqual([]);
    await append(1);
    expect(await trees.unsigned(10)).toEqual([{ tree: TREE, grownTo: 6 }]);
    const signed = await sign();
    expect(signed.map(({ data }) => (data as { size: number }).size)).toEqual([3, 6]);
    expect(new Set(signed.map(({ data }) => (data as { vkey: string }).vkey)).size).toBe(1);
    expect(await trees.unsigned(10)).toEqual([]);
  });

  test('is also signed for events without an organization, in a tree of its own', async () => {
    const { append, sign } = await openSigned();
    await append(2, 'destination-gmail', '');
    expect(await sign('service')).toMatchObject([{ data: { organizationId: '', size: 2 } }]);
  });

  test('is signed by only one of two processes that try at once', async () => {
    const { append, context, trees, store } = await openSigned();
    await append(5);
    const one = () => signCheckpoint(context, { tree: TREE, trees, host: 'mail.example' });
    await Promise.all([one(), one(), one()]);
    expect((await store.readStream(auditStream(TREE))).map(({ type }) => type)).toEqual([
      'AuditKeyAdded',
      'CheckpointSigned',
    ]);
  });

  test('is read from the end of a stream, however many there are', async () => {
    const { append, sign, context, store } = await openSigned();
    const reads = vi.spyOn(store, 'readStream');
    for (let round = 0; round < 8; round += 1) {
      await append(1);
      await sign();
    }
    reads.mockClear();
    const { state, revision } = await loadAuditLog(context, TREE);
    expect([state.last?.size, revision, reads.mock.calls.length]).toEqual([16, 8, 1]);
  });

  test('is signed by both keys once after a rotation, and then only by the new one', async () => {
    const { append, sign, context, store } = await openSigned();
    const operator = internalOrigin({ actor: 'operator', organizationId: TREE, causeId: 'rotation' });
    await expect(rotateAuditKey(context, operator, TREE)).rejects.toThrow('nothing has been signed yet');
    await append(1);
    await sign();
    const vkey = await rotateAuditKey(context, operator, TREE);
    await expect(rotateAuditKey(context, operator, TREE)).rejects.toThrow('has not signed its last checkpoint');
    for (let round = 0; round < 2; round += 1) {
      await append(1);
      await sign();
    }
    const events = await store.readStream(auditStream(TREE));
    const added = events.flatMap((event) => (event.type === 'AuditKeyAdded' ? [event.data.vkey] : []));
    expect(added[1]).toBe(vkey);
    const keys = added.map(parseVerifierKey);
    const signedBy = events.flatMap((event) =>
      event.type === 'CheckpointSigned' ? [keys.map((key) => signedAt(parseNote(event.data.note), key) === 0)] : [],
    );
    expect(signedBy).toEqual([
      [true, false],
      [true, true],
      [false, true],
    ]);
    expect(events.map(({ type }) => type)).toContain('AuditKeyRetired');
    expect((await loadAuditLog(context, TREE)).state).toMatchObject({ former: null, signing: { key: { vkey } } });
  });

  test('is refused if the tree differs from the one that was signed', async () => {
    const { append, sign, context, trees } = await openSigned();
    await append(5);
    await sign();
    await append(1);
    const signWith = (other: Partial<typeof trees>) =>
      signCheckpoint(context, { tree: TREE, trees: { ...trees, ...other }, host: 'mail.example' });
    const stored = await trees.state(TREE);
    const shorter = stored && { ...stored, size: 4 };
    await expect(signWith({ state: async () => shorter })).rejects.toThrow(/4 leaves, and 5 were signed/);
    await expect(signWith({ root: async () => Buffer.alloc(32) })).rejects.toThrow(LogContradiction);
    await context.secrets.destroy([(await loadAuditLog(context, TREE)).state.signing?.key.secretId ?? '']);
    await expect(signWith({})).rejects.toThrow(/not in the vault/);
  });
});

describe('the signing worker', () => {
  const start = async (leads: boolean, reads: Partial<AuditQueries> = {}) => {
    const opened = await openSigned();
    const ending = new AbortController();
    let isLeader = leads;
    let rounds = 0;
    const work = signCheckpoints({
      ...opened.context,
      trees: { ...opened.trees, ...reads },
      leadership: {
        isLeader: () => {
          rounds += 1;
          return isLeader;
        },
      },
      logger: silentLogger,
      publicUrl: () => 'https://mail.example:8443/outbox',
      intervalMs: 20,
    });
    const ended = work(ending.signal, () => undefined);
    onTestFinished(async () => {
      ending.abort();
      await ended;
    });
    const lead = (): void => {
      isLeader = true;
    };
    /** Waits for two more rounds, in which a surplus signature would be made. */
    const twoMoreRounds = async (): Promise<void> => {
      const enough = rounds + 3; // the current one, and two complete ones
      await vi.waitFor(() => expect(rounds).toBeGreaterThanOrEqual(enough), 10_000);
    };
    return { ...opened, lead, twoMoreRounds };
  };
  const signedIn = async (store: EventStore, tree: string) =>
    (await store.readStream(auditStream(tree))).filter(({ type }) => type === 'CheckpointSigned').length;

  test('signs each tree that grows, once', async () => {
    const { store, append, twoMoreRounds } = await start(true);
    await append(3);
    await append(2, 'destination-gmail', '');
    await vi.waitFor(
      async () => expect([await signedIn(store, TREE), await signedIn(store, 'service')]).toEqual([1, 1]),
      5_000,
    );
    await twoMoreRounds();
    expect([await signedIn(store, TREE), await signedIn(store, 'service')]).toEqual([1, 1]);
    const [added] = await store.readStream(auditStream(TREE));
    expect(added).toMatchObject({ data: { origin: `mail.example:8443/v1/audit/tlog/${TREE}` } });
  });

  test('signs nothing for its own checkpoint, however late the read model receives it', async () => {
    const { store, append, pool, trees, followed, lead, twoMoreRounds } = await start(false, {
      // The read model advances between the two reads of a round.
      state: async (tree) => {
        if ((await signedIn(store, tree)) > 0) await goOn();
        return trees.state(tree);
      },
    });
    await append(2, 'destination-gmail', '');
    const held = await pool.connect();
    onTestFinished(() => held.release(true));
    let rounds = 0;
    const goOn = async () => {
      rounds += 1;
      await held.query('commit');
      await followed();
    };
    await held.query('begin');
    await held.query('select from read_models.audit_trees for update');
    lead();
    await vi.waitFor(() => expect(rounds).toBeGreaterThan(0), 5_000);
    await vi.waitFor(async () => expect(await trees.unsigned(10)).toEqual([]), 5_000);
    await twoMoreRounds();
    expect(await signedIn(store, 'service')).toBe(1);
  });

  test('signs nothing while another process leads', async () => {
    const { store, append, trees, twoMoreRounds } = await start(false);
    await append(3);
    await vi.waitFor(async () => expect(await trees.unsigned(10)).toHaveLength(1), 5_000);
    await twoMoreRounds();
    expect(await signedIn(store, TREE)).toBe(0);
  });
});

describe('a rebuild', () => {
  test('goes live only if it was built from the log that was signed', async () => {
    const { pool, store, append, sign } = await openSigned();
    await append(400);
    await sign();
    await append(200);
    await sign();
    const rebuilt = (log: Pick<EventStore, 'readAll'>) =>
      rebuild({ pool, store: { ...store, ...log }, logger: silentLogger }, [auditProjection]);
    await expect(rebuilt(store)).resolves.toHaveLength(1);
    const changed: EventStore['readAll'] = async (options) => {
      const page = await store.readAll(options);
      const events = page.events.map((event) =>
        event.revision === 123 ? { ...event, stored: { ...event.stored, data: '{"keyId":"key_2"}' } } : event,
      );
      return { ...page, events };
    };
    // The session of the previous rebuild may hold its lock a moment longer.
    const isRefused = (log: Pick<EventStore, 'readAll'>) =>
      vi.waitFor(() => expect(rebuilt(log)).rejects.toThrow(ChangedLog), 5_000);
    await isRefused({ readAll: changed });
    const removed: EventStore['readAll'] = async (options) => {
      const page = await store.readAll(options);
      return { ...page, events: page.events.filter(({ revision }) => revision !== 123) };
    };
    await isRefused({ readAll: removed });
  });
});
