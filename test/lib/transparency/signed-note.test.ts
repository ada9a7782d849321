import { randomBytes, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  checkpointText,
  createCosigner,
  createSigner,
  MalformedNote,
  ML_DSA_44,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  signedAt,
  signedNote,
} from '../../../src/lib/transparency/signed-note.ts';

const ORIGIN = 'mail.example/v1/audit/tlog/org_a';
const CHECKPOINT = { origin: ORIGIN, size: 5, root: randomBytes(32) };
const TEXT = checkpointText(CHECKPOINT);
const log = createSigner(ORIGIN, randomBytes(32));
const witness = createCosigner('witness.example', randomBytes(32));
const NOTE = signedNote(TEXT, [log.signatureLine(TEXT), witness.signatureLine(TEXT, 1_700_000_000)]);

describe('a signed note', () => {
  test('is verified by the keys that signed it', () => {
    const note = parseNote(NOTE);
    expect(parseCheckpoint(note.text)).toEqual(CHECKPOINT);
    expect(signedAt(note, parseVerifierKey(log.verifierKey.text))).toBe(0);
    expect(signedAt(note, parseVerifierKey(witness.verifierKey.text))).toBe(1_700_000_000);
    expect(signedAt(note, createSigner(ORIGIN, randomBytes(32)).verifierKey)).toBeNull();
  });

  test('opens the example of the specification of notes', () => {
    const key = parseVerifierKey('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
    const text =
      'If you think cryptography is the answer to your problem,\nthen you don\u2019t know what your problem is.\n'.replace(
        '\u2019',
        "'",
      );
    const line =
      '\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
    expect(signedAt(parseNote(signedNote(text, [line])), key)).toBe(0);
    expect(signedAt(parseNote(signedNote(text.replace('answer', 'Answer'), [line])), key)).toBeNull();
  });

  test('is cosigned with ML-DSA-44 by a named witness', () => {
    const quantum = createCosigner('witness.example', randomBytes(32), ML_DSA_44);
    const line = quantum.signatureLine(TEXT, 1_700_000_000);
    const note = parseNote(signedNote(TEXT, [line]));
    expect(note.signatures[0]?.bytes).toHaveLength(8 + 2_420);
    expect(signedAt(note, parseVerifierKey(quantum.verifierKey.text))).toBe(1_700_000_000);
    // The `cosigned_message` of tlog-cosignature, "ML-DSA-44 signed message", byte by byte.
    const message = Buffer.concat([
      Buffer.from('subtree/v1\n\0\x0fwitness.example\0\0\0\0\x65\x53\xf1\x00', 'latin1'),
      Buffer.from(`${String.fromCharCode(ORIGIN.length)}${ORIGIN}`),
      Buffer.from('\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05', 'latin1'),
      CHECKPOINT.root,
    ]);
    const { publicKey } = quantum.verifierKey;
    expect(verify(null, message, publicKey, note.signatures[0]?.bytes.subarray(8) ?? Buffer.alloc(0))).toBe(true);
    const other = checkpointText({ ...CHECKPOINT, size: 6 });
    expect(signedAt(parseNote(signedNote(other, [line])), quantum.verifierKey)).toBeNull();
    const renamed = createCosigner('witness2.example', randomBytes(32), ML_DSA_44).verifierKey;
    expect(signedAt(note, renamed)).toBeNull();
  });

  test('has no valid signature once a byte is changed', () => {
    const bytes = Buffer.from(NOTE);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      const verified = (): unknown[] => {
        const note = parseNote(changed.toString());
        return [signedAt(note, log.verifierKey), signedAt(note, witness.verifierKey)];
      };
      let all: unknown[] = [null, null];
      try {
        all = verified();
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedNote);
      }
      expect(all).not.toEqual([0, 1_700_000_000]);
    }
  });

  test.each([
    '',
    'text\n',
    'text\n\n',
    'text\n\nno signature\n',
    '\u2014 a AAAA\n',
    'text\n\n\u2014 a b\n',
    'a\tb\n\n\u2014 a AAAAAAAA\n',
    `text\n\n${'\u2014 a AAAAAAAA\n'.repeat(65)}`,
    `${'x'.repeat(70_000)}\n\n\u2014 a AAAAAAAA\n`,
    'text\n\n\u2014 a+b AAAAAAAA\n',
  ])('is refused if it is invalid: %j', (text) => {
    expect(() => parseNote(text)).toThrow(MalformedNote);
  });

  test.each(['', 'a', 'a+00000000+AQ==', `${log.verifierKey.text}AA`, log.verifierKey.text.replace('/', '+')])(
    'is not verified by an invalid key: %j',
    (text) => {
      expect(() => parseVerifierKey(text)).toThrow(MalformedNote);
    },
  );

  test.each([
    '',
    'a\n1\n',
    'a\n-1\nAAAA\n',
    'a\n01\nAAAA\n',
    'a\n1\nAAAA\n',
    '\n1\nAAAA\n',
    'a\n9999999999999999\nAA==\n',
  ])('is not a checkpoint: %j', (text) => {
    expect(() => parseCheckpoint(text)).toThrow(MalformedNote);
  });
});
