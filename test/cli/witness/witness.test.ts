import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  addCheckpointBody,
  checkpointText,
  consistencyRanges,
  createSigner,
  EMPTY_ROOT,
  joined,
  leafHash,
  parseNote,
  REQUEST_BYTES_MAX,
  rootOfComplete,
  signedAt,
  signedNote,
  subtreesOf,
} from '../../../src/lib/transparency/transparency.ts';
import { startWitness, type TestWitness } from '../../support/witness.ts';

const ORIGIN = 'mail.example/v1/audit/tlog/org_mine';

/** A log with leaves `<name> <n>`. */
const logOf = (name = 'a', signer = createSigner(ORIGIN, randomBytes(32))) => {
  const hashOf = ({ from, to }: { from: number; to: number }): Buffer =>
    joined(
      subtreesOf({ from, to }).map(({ level, index }) => {
        const width = 2 ** level;
        const leaves = Array.from({ length: width }, (_, n) => leafHash(`${name} ${index * width + n}`));
        return rootOfComplete(Buffer.concat(leaves));
      }),
    );
  const text = (size: number, origin = ORIGIN) =>
    checkpointText({ origin, size, root: size === 0 ? EMPTY_ROOT : hashOf({ from: 0, to: size }) });
  const note = (size: number) => signedNote(text(size), [signer.signatureLine(text(size))]);
  const body = (oldSize: number, size: number) =>
    addCheckpointBody({ oldSize, proof: consistencyRanges(oldSize, size).map(hashOf), note: note(size) });
  return { signer, text, note, body };
};

const post = async ({ url }: TestWitness, body: string | Buffer, path = '/add-checkpoint') => {
  const response = await fetch(`${url}${path}`, { method: 'POST', body });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};

const started = async () => {
  const log = logOf();
  const witness = await startWitness({ logs: [log.signer.verifierKey] });
  return { log, witness };
};

describe('a witness', () => {
  test('cosigns checkpoints that extend what it has seen, also after a restart', async () => {
    const { log, witness } = await started();
    const cosigns = async (on: TestWitness, oldSize: number, size: number) => {
      const { status, text } = await post(on, log.body(oldSize, size));
      expect(status).toBe(200);
      const note = parseNote(`${log.text(size)}\n${text}`);
      expect(signedAt(note, witness.signer.verifierKey)).toBeGreaterThan(1_600_000_000);
    };
    await cosigns(witness, 0, 3);
    await cosigns(witness, 3, 3);
    await cosigns(witness, 3, 300);
    const again = await startWitness(witness);
    await cosigns(again, 300, 301);
    expect((await readdir(witness.folder)).length).toBe(1);
  });

  test('tells callers that are behind or ahead what it has cosigned', async () => {
    const { log, witness } = await started();
    await post(witness, log.body(0, 5));
    for (const [oldSize, size] of [
      [0, 5],
      [0, 9],
      [3, 9],
      [6, 9],
      [0, 3],
      [3, 3],
    ] as const) {
      const answer = await post(witness, log.body(oldSize, size));
      expect(answer).toEqual({ status: 409, type: 'text/x.tlog.size', text: '5\n' });
    }
  });

  test('refuses a fork, with or without a plausible proof', async () => {
    const { log, witness } = await started();
    const fork = logOf('b', log.signer);
    await post(witness, log.body(0, 5));
    expect((await post(witness, fork.body(5, 5))).status).toBe(422);
    expect((await post(witness, fork.body(5, 9))).status).toBe(422);
    const body = addCheckpointBody({ oldSize: 5, proof: [], note: log.note(9) });
    expect((await post(witness, body)).status).toBe(422);
    expect((await post(witness, log.body(5, 9))).status).toBe(200);
  });

  test('cosigns one of two contradicting checkpoints, however many clients ask at once', async () => {
    const { log, witness } = await started();
    const fork = logOf('b', log.signer);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => post(witness, (n % 2 === 0 ? log : fork).body(0, 5))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  });

  test('keeps logs separate', async () => {
    const { log, witness } = await started();
    const other = createSigner('other.example', randomBytes(32));
    witness.logs.push(other.verifierKey);
    await post(witness, log.body(0, 5));
    const text = log.text(3, 'other.example');
    const body = (signer = other) =>
      addCheckpointBody({ oldSize: 0, proof: [], note: signedNote(text, [signer.signatureLine(text)]) });
    expect((await post(witness, body(log.signer))).status).toBe(403);
    expect((await post(witness, body())).status).toBe(200);
  });

  test('cosigns nothing for a log whose file is damaged', async () => {
    const { log, witness } = await started();
    await post(witness, log.body(0, 5));
    const [name = ''] = await readdir(witness.folder);
    const whole = await readFile(join(witness.folder, name), 'utf8');
    for (const text of ['', whole.replace('\n5\n', '\n3\n'), whole.slice(0, -9)]) {
      await writeFile(join(witness.folder, name), text);
      expect((await post(witness, log.body(0, 6))).status).toBe(500);
    }
    expect(witness.faults).toHaveLength(3);
    await writeFile(join(witness.folder, name), whole);
    expect((await post(witness, log.body(5, 6))).status).toBe(200);
  });

  test.each<[string, (log: ReturnType<typeof logOf>) => string | Buffer, number]>([
    ['nothing', () => '', 400],
    ['no old size', ({ note }) => `\n${note(3)}`, 400],
    ['an old size with a sign', ({ note }) => `old -1\n\n${note(3)}`, 400],
    ['an old size with zeros', ({ note }) => `old 00\n\n${note(3)}`, 400],
    ['an old size of 30 digits', ({ note }) => `old ${'9'.repeat(30)}\n\n${note(3)}`, 400],
    ['a larger old size', ({ note }) => `old 4\n\n${note(3)}`, 400],
    ['carriage returns', ({ note }) => `old 0\r\n\r\n${note(3)}`, 400],
    ['NUL', ({ note }) => `old 0\n\n${note(3)}\0`, 400],
    ['a proof of words', ({ note }) => `old 0\nword\n\n${note(3)}`, 400],
    ['a proof of 64 lines', ({ note }) => `old 0\n${`${EMPTY_ROOT.toString('base64')}\n`.repeat(64)}\n${note(3)}`, 400],
    ['a proof where none is due', ({ note }) => `old 0\n${EMPTY_ROOT.toString('base64')}\n\n${note(3)}`, 422],
    ['no checkpoint', () => 'old 0\n\nword\n\n\u2014 a b\n', 400],
    ['no UTF-8', () => Buffer.from([0x6f, 0xff, 0xfe]), 400],
    ['another key', () => logOf().body(0, 3), 403],
    [
      'another log',
      ({ text, signer }) => {
        const other = text(3, 'else.example');
        return addCheckpointBody({ oldSize: 0, proof: [], note: signedNote(other, [signer.signatureLine(other)]) });
      },
      404,
    ],
    [
      'an empty log with a root',
      ({ signer }) => {
        const text = checkpointText({ origin: ORIGIN, size: 0, root: leafHash('a') });
        return addCheckpointBody({ oldSize: 0, proof: [], note: signedNote(text, [signer.signatureLine(text)]) });
      },
      422,
    ],
    ['too much', () => 'x'.repeat(REQUEST_BYTES_MAX + 1), 413],
  ])('refuses %s', async (_, bodyOf, status) => {
    const { log, witness } = await started();
    expect((await post(witness, bodyOf(log))).status).toBe(status);
    expect(await readdir(witness.folder)).toEqual([]);
    expect(witness.faults).toEqual([]);
  });

  test('survives 10 MB bodies, unknown paths and unsupported methods', async () => {
    const { log, witness } = await started();
    await post(witness, Buffer.alloc(10_000_000, 'x')).catch(() => undefined); // the connection may end first
    expect((await post(witness, '', '/')).status).toBe(404);
    expect((await fetch(`${witness.url}/add-checkpoint`)).status).toBe(405);
    expect((await post(witness, log.body(0, 3))).status).toBe(200);
  });
});
