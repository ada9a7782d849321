import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createHttpWitnesses } from '../../../src/adapters/witnesses/http.ts';
import { loadAuditLog, signCheckpoint } from '../../../src/commands/audit.ts';
import {
  createCosigner,
  ML_DSA_44,
  parseNote,
  parseVerifierKey,
  signedAt,
  type VerifierKey,
} from '../../../src/domain/audit/signed-note.ts';
import { eventCodec } from '../../../src/domain/codec.ts';
import { auditStream } from '../../../src/domain/streams.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { createAuditTrees } from '../../../src/projections/audit/tree.ts';
import { rebuild } from '../../../src/projections/rebuild.ts';
import { askWitnesses } from '../../../src/workers/audit/ask-witnesses.ts';
import { caughtUp, openPool, startRunner } from '../../projections/support/open.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { silentLogger } from '../../support/logger.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { startOtherWitness, startWitness } from '../../support/witness.ts';

const TREE = 'org_mine';
const PATIENCE = { timeout: 20_000, interval: 50 };

const open = async () => {
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
  return { pool, store, trees, append, sign, ask, newest, cosigned, isCosignedBy, alarms };
};

/** A key that nobody has the other half of. */
const someKey = () => createCosigner('other.example', randomBytes(32)).verifierKey;

describe('a witness', () => {
  test('cosigns each checkpoint, which every reader gets with its lines, also after a rebuild', async () => {
    const { pool, store, append, sign, ask, newest, isCosignedBy, cosigned } = await open();
    const [one, two] = [
      await startWitness(),
      await startWitness({ signer: createCosigner('w2', randomBytes(32), ML_DSA_44) }),
    ];
    await append(300);
    const key = await sign();
    one.logs.push(key);
    two.logs.push(key);
    ask([one, two].map(({ signer, url }) => ({ key: signer.verifierKey, url })));
    for (const size of [1, 2]) {
      await isCosignedBy(one.signer.verifierKey);
      await isCosignedBy(two.signer.verifierKey);
      expect(await cosigned()).toHaveLength(2 * size);
      const before = await newest();
      expect(signedAt(before, key)).toBe(0);
      await append(3);
      await sign();
      expect((await newest()).text).not.toBe(before.text);
    }
    await isCosignedBy(one.signer.verifierKey);
    await isCosignedBy(two.signer.verifierKey);
    const before = await newest();
    await rebuild({ pool, store, logger: silentLogger }, [auditProjection]);
    expect(await newest()).toEqual(before);
  });

  test('is no reason for another checkpoint', async () => {
    const { trees, append, sign, ask, isCosignedBy } = await open();
    const witness = await startWitness();
    await append();
    witness.logs.push(await sign());
    ask([{ key: witness.signer.verifierKey, url: witness.url }]);
    await isCosignedBy(witness.signer.verifierKey);
    expect(await trees.unsigned(10)).toEqual([]);
  });

  test('is asked again after a crash between its cosignature and the event', async () => {
    const { append, sign, ask, store, isCosignedBy, cosigned } = await open();
    const witness = await startWitness();
    await append(5);
    witness.logs.push(await sign());
    const append_ = vi.spyOn(store, 'append').mockRejectedValue(new Error('crashed'));
    const end = ask([{ key: witness.signer.verifierKey, url: witness.url }]);
    await vi.waitFor(() => expect(append_).toHaveBeenCalled(), PATIENCE);
    await end();
    append_.mockRestore();
    expect(await cosigned()).toEqual([]);
    ask([{ key: witness.signer.verifierKey, url: witness.url }]);
    await isCosignedBy(witness.signer.verifierKey);
    expect(await cosigned()).toHaveLength(1);
  });

  test('is on record once when two processes ask it', async () => {
    const { append, sign, ask, isCosignedBy, cosigned, trees } = await open();
    const witness = await startWitness();
    await append(5);
    witness.logs.push(await sign());
    const asked = { key: witness.signer.verifierKey, url: witness.url };
    ask([asked]);
    ask([asked]);
    await isCosignedBy(witness.signer.verifierKey);
    const signatory = `${asked.key.name}+${asked.key.id}`;
    expect(await trees.uncosigned({ signatory, without: [], limit: 9 })).toEqual([]);
    expect(await cosigned()).toHaveLength(1);
  });

  test('that does not know the log is named in an alarm, and asked again later', async () => {
    const { append, sign, ask, alarms, cosigned } = await open();
    const witness = await startWitness();
    await append();
    await sign();
    ask([{ key: witness.signer.verifierKey, url: witness.url }]);
    await vi.waitFor(() => expect(alarms).toHaveLength(1), PATIENCE);
    expect(alarms[0]).toMatch(/does not cosign: it answers 404 this log is not known here/);
    expect(await cosigned()).toEqual([]);
  });

  test('that has seen another log of this key says so in an alarm', async () => {
    const { append, sign, ask, alarms, cosigned } = await open();
    const witness = await startWitness();
    await append(5);
    const key = await sign();
    witness.logs.push(key);
    const url = await startOtherWitness((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const isFirst = Buffer.concat(chunks).toString().startsWith('old 0\n');
        if (isFirst) response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end('3\n');
        else response.writeHead(422).end();
      });
    });
    ask([{ key: someKey(), url }]);
    await vi.waitFor(() => expect(alarms).toHaveLength(1), PATIENCE);
    expect(alarms[0]).toMatch(/has cosigned 3 leaves that these do not continue/);
    expect(await cosigned()).toEqual([]);
  });
});

describe('a witness that works', () => {
  const lines =
    (text: string): RequestListener =>
    (_, response) =>
      void response.writeHead(200).end(text);
  const sizes =
    (next: () => string): RequestListener =>
    (_, response) =>
      void response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(next());
  let turn = 0;
  const anotherSize = (): string => {
    turn = (turn % 4) + 1;
    return `${turn}\n`;
  };
  const forged = createCosigner('other.example', randomBytes(32));

  /** Each of which delays nobody and is not believed. */
  const MISBEHAVIOURS: Readonly<Record<string, RequestListener>> = {
    'never answers': () => undefined,
    'ends each connection': (request) => void request.socket.destroy(),
    'sends endless lines': (_, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write(`${'x'.repeat(10_000)}\n`));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
    fails: (_, response) => void response.writeHead(500).end('oh'),
    'leads elsewhere': (_, response) => void response.writeHead(307, { location: '/else' }).end(),
    'signs with another key': lines(forged.signatureLine('else\n1\nAAAA\n', 1_700_000_000)),
    'says nonsense': lines('\u2014 \0\r\n\n\u2014 a b\n'),
    'asks for another size each time': sizes(anotherSize),
    'says a size that is no number': sizes(() => '-1\n'),
    'says a page for a size': sizes(() => '<html>'),
    'refuses without a size': (_, response) => void response.writeHead(422).end('no'),
  };

  test('cosigns beside all that do not keep to the protocol', async () => {
    const { append, sign, ask, isCosignedBy, cosigned } = await open();
    const witness = await startWitness();
    const others = await Promise.all(Object.values(MISBEHAVIOURS).map(startOtherWitness));
    await append(5);
    witness.logs.push(await sign());
    const asked = others.map((url) => ({ key: forged.verifierKey, url }));
    ask([...asked, { key: witness.signer.verifierKey, url: witness.url }]);
    await isCosignedBy(witness.signer.verifierKey);
    await append();
    await sign();
    await isCosignedBy(witness.signer.verifierKey);
    expect(await cosigned()).toHaveLength(2);
  });
});
