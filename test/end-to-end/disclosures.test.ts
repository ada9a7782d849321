import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { verifyFile } from '../../src/cli/audit/verify-file.ts';
import {
  leafHash,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  rootOfInclusion,
  signedAt,
} from '../../src/lib/transparency/transparency.ts';
import type { DisclosureAnswer } from '../support/disclosures.ts';
import { ADDRESS } from '../support/traces.ts';
import { createErasing } from '../workers/erasing.ts';

const OTHER = 'bob@example.org';

interface Proof {
  readonly leaf_index: number;
  readonly leaf: string;
  readonly hashes: readonly string[];
  readonly checkpoint: string;
}

describe('an auditor who saw a message that is erased later', () => {
  const { ask, read, send, attempt, erase, rounds } = createErasing();

  /** A folder with the files that an auditor keeps. */
  const keep = async () => {
    const path = await mkdtemp(join(tmpdir(), 'outbox-auditor-'));
    onTestFinished(() => rm(path, { recursive: true }));
    return async (name: string, text: string): Promise<string> => {
      await writeFile(join(path, name), text);
      return join(path, name);
    };
  };

  const sign = async (): Promise<{ readonly note: string; readonly verifier_key: string }> =>
    (await ask('POST', '/v1/audit/checkpoints', {})).body;

  const disclose = async (eventId: string): Promise<DisclosureAnswer> =>
    (await ask('GET', `/v1/audit/disclosures/${eventId}`)).body;

  const isProved = (proof: Proof, key: string): boolean => {
    const note = parseNote(proof.checkpoint);
    const { size, root } = parseCheckpoint(note.text);
    const hashes = proof.hashes.map((hash) => Buffer.from(hash, 'base64'));
    const own = rootOfInclusion(proof.leaf_index, size, leafHash(proof.leaf), hashes);
    return signedAt(note, parseVerifierKey(key)) === 0 && own?.equals(root) === true;
  };

  test('can still prove what was shown, and sees only hashes from then on', async () => {
    const write = await keep();
    const { id } = await send({ cc: OTHER, html: '<p>Dear Ann</p>' });
    await attempt(id, 'delivered');
    const { verifier_key: key, note } = await sign();
    const log = (await ask('GET', `/v1/audit/log?message_id=${id}&type=MessageAccepted`)).body;
    const eventId: string = log.data[0].event_id;
    const proof: Proof = (await ask('GET', `/v1/audit/proof/${eventId}`)).body;
    const shown = await disclose(eventId);
    const before = {
      export: await write('before.jsonl', await read('/v1/audit/export')),
      disclosure: await write('before.json', JSON.stringify(shown)),
      note: await write('before.note', note),
    };
    expect(isProved(proof, key)).toBe(true);

    const erasureId = await erase();
    await rounds(2);
    await sign();
    const left = await disclose(eventId);
    const after = {
      export: await write('after.jsonl', await read('/v1/audit/export')),
      disclosure: await write('after.json', JSON.stringify(left)),
    };
    const verify = (file: string, disclosure: string) =>
      verifyFile({ file, key, since: [before.note], disclosures: [disclosure] });

    for (const file of [before.export, after.export]) {
      const { verdict, disclosed } = await verify(file, before.disclosure);
      expect([verdict, disclosed.filter((sentence) => sentence.includes(ADDRESS)).length]).toEqual(['verified', 3]);
      expect(disclosed).toContainEqual(expect.stringMatching(/: html is "<p>Dear Ann<\/p>"$/));
    }
    expect(isProved(proof, key)).toBe(true);

    expect(left.content_root).toBe(shown.content_root);
    expect(left.parts.map(({ hash }) => hash)).toEqual(shown.parts.map(({ hash }) => hash));
    const { verdict, faults, doubts, disclosed } = await verify(after.export, after.disclosure);
    expect({ verdict, faults, doubts }).toEqual({ verdict: 'verified', faults: [], doubts: [] });
    expect(disclosed.filter((sentence) => sentence.includes(`was erased by ${erasureId}`))).toHaveLength(4);
    expect(disclosed).toContainEqual(expect.stringContaining(`{"address":"${OTHER}","kind":"cc"}`));
    expect(JSON.stringify([left, disclosed])).not.toContain(ADDRESS);

    expect(await verify(before.export, after.disclosure)).toMatchObject({
      verdict: 'undecided',
      doubts: [`the erasure ${erasureId}, which removed parts, is not in this export`],
    });
    const forged = { ...left, parts: left.parts.with(0, { ...shown.parts[1], name: left.parts[0]?.name } as never) };
    const lie = await write('lie.json', JSON.stringify(forged));
    expect((await verify(after.export, lie)).verdict).toBe('not verified');
  });
});
