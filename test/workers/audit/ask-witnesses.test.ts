import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { noteCosignature } from '../../../src/commands/audit.ts';
import { createCosigner, ML_DSA_44, parseNote, signedAt } from '../../../src/lib/transparency/transparency.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { rebuild } from '../../../src/projections/runner.ts';
import { silentLogger } from '../../support/logger.ts';
import { startOtherWitness, startWitness } from '../../support/witness.ts';
import { TREE } from './signed-log.ts';
import { openWitnessed, PATIENCE } from './witnessed-log.ts';

/** A verifier key whose private key is discarded. */
const someKey = () => createCosigner('other.example', randomBytes(32)).verifierKey;

describe('a witness', () => {
  test('cosigns each checkpoint, and every reader gets the cosignature, also after a rebuild', async () => {
    const { pool, store, append, sign, ask, newest, isCosignedBy, cosigned } = await openWitnessed();
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

  test('does not cause another checkpoint', async () => {
    const { trees, append, sign, ask, isCosignedBy } = await openWitnessed();
    const witness = await startWitness();
    await append();
    witness.logs.push(await sign());
    ask([{ key: witness.signer.verifierKey, url: witness.url }]);
    await isCosignedBy(witness.signer.verifierKey);
    expect(await trees.unsigned(10)).toEqual([]);
  });

  test('is asked again after a crash between its cosignature and the event', async () => {
    const { append, sign, ask, store, isCosignedBy, cosigned } = await openWitnessed();
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

  test('is recorded once when two processes ask it', async () => {
    const { append, sign, ask, isCosignedBy, cosigned, trees } = await openWitnessed();
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

  test('is recorded once even if another checkpoint was signed before a process learns of it', async () => {
    const { append, sign, context, trees, cosigned } = await openWitnessed();
    await append(5);
    await sign();
    const [{ note } = { note: '' }] = await trees.checkpoints({ tree: TREE, limit: 1 });
    const [one, two] = [createCosigner('w1', randomBytes(32)), createCosigner('w2', randomBytes(32))];
    const noteBy = ({ signatureLine }: typeof one): Promise<void> => {
      const line = signatureLine(parseNote(note).text, 1_900_000_000).trimEnd();
      return noteCosignature(context, { tree: TREE, note, line });
    };
    await noteBy(one);
    await append(3);
    await sign();
    await noteBy(one);
    expect(await cosigned()).toHaveLength(1);
    await noteBy(two);
    await noteBy(two);
    expect(await cosigned()).toHaveLength(2);
  });

  test('that does not know the log is named in an alarm, and asked again later', async () => {
    const { append, sign, ask, alarms, cosigned } = await openWitnessed();
    const witness = await startWitness();
    await append();
    await sign();
    ask([{ key: witness.signer.verifierKey, url: witness.url }]);
    await vi.waitFor(() => expect(alarms).toHaveLength(1), PATIENCE);
    expect(alarms[0]).toMatch(/refuses to cosign: it returned 404 unknown log: this witness is not configured for it/);
    expect(await cosigned()).toEqual([]);
  });

  test('that rejects the log twice, and was shown no later checkpoint, is assumed to have seen another log', async () => {
    const { append, sign, ask, alarms, trees, cosigned } = await openWitnessed();
    await append(5);
    await sign();
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
    expect(alarms[0]).toMatch(/has cosigned 3 leaves of a different history/);
    await vi.waitFor(async () => expect(await trees.disputed()).toBe(1), PATIENCE);
    expect(await cosigned()).toEqual([]);
  });
});

describe('a working witness', () => {
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

  /** None of these may delay other witnesses or be trusted. */
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

  test('cosigns even if all others violate the protocol', async () => {
    const { append, sign, ask, isCosignedBy, cosigned } = await openWitnessed();
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
