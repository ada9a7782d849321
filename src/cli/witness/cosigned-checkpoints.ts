import { hash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSemaphore, type Semaphore } from '../../lib/async/async.ts';
import {
  type Answer,
  type Checkpoint,
  parseCheckpoint,
  parseNote,
  problemWith,
  type Shown,
  type Signer,
  signedAt,
  signedNote,
} from '../../lib/transparency/transparency.ts';
import { replaceFile } from '../replace-file.ts';

/**
 * Stores the last cosigned checkpoint of each log with the witness's signature line, one file per log. The file is
 * written, flushed and renamed before the line is returned, so that after a crash no signature exists that is not
 * stored.
 */

/** A state file has unexpected content. The witness refuses to cosign for this log until a person has investigated. */
export class DamagedState extends Error {
  override readonly name = 'DamagedState';
}

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Durably writes a file under its name, or not at all. */
export const writeWhole = async (directory: string, name: string, text: string): Promise<void> => {
  await replaceFile(join(directory, name), text, 0o600);
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** null if the file does not exist. */
export const readIfThere = async (path: string): Promise<string | null> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
};

export interface CosignedCheckpoints {
  /** Cosigns a checkpoint that extends the last one. Requests for one log are processed in sequence. */
  cosign(shown: Shown, seconds: number): Promise<Answer>;
}

export const createCosignedCheckpoints = (directory: string, signer: Signer): CosignedCheckpoints => {
  /** Semaphores by origin. Only configured logs reach this map, which bounds its size. */
  const turns = new Map<string, Semaphore>();

  const readLatest = async (name: string, origin: string): Promise<Checkpoint | null> => {
    const text = await readIfThere(join(directory, name));
    if (text === null) return null;
    try {
      const note = parseNote(text);
      const checkpoint = parseCheckpoint(note.text);
      if (checkpoint.origin === origin && signedAt(note, signer.verifierKey) !== null) return checkpoint;
    } catch {
      // also damaged
    }
    throw new DamagedState(`${join(directory, name)} is not what this witness wrote about ${origin}`);
  };

  const cosignNow = async (shown: Shown, seconds: number): Promise<Answer> => {
    const { origin } = shown.checkpoint;
    const name = `${hash('sha256', origin)}.note`;
    const problem = problemWith(shown, await readLatest(name, origin));
    if (problem !== null) return problem;
    const line = signer.signatureLine(shown.text, seconds);
    await writeWhole(directory, name, signedNote(shown.text, [line]));
    return { status: 200, contentType: 'text/plain; charset=utf-8', body: line };
  };

  return {
    cosign: (shown, seconds) => {
      const { origin } = shown.checkpoint;
      const turn = turns.get(origin) ?? createSemaphore({ capacity: 1 });
      turns.set(origin, turn);
      return turn.run(() => cosignNow(shown, seconds));
    },
  };
};
