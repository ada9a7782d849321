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
 * What a witness has cosigned last, a file for each log: the checkpoint with the witness's own line. It is written anew,
 * flushed and renamed before the line is handed out, so that after a crash nothing was handed out that is not there.
 */

/** A file of the witness is not what it wrote. It cosigns nothing of this log until somebody has seen why. */
export class DamagedState extends Error {
  override readonly name = 'DamagedState';
}

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** On disk under its name, or not at all. */
export const writeWhole = async (directory: string, name: string, text: string): Promise<void> => {
  await replaceFile(join(directory, name), text, 0o600);
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** null: there is none. */
export const readIfThere = async (path: string): Promise<string | null> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
};

export interface CosignedCheckpoints {
  /** Cosigns it, unless it does not continue what was cosigned before. One checkpoint of a log after another. */
  cosign(shown: Shown, seconds: number): Promise<Answer>;
}

export const createCosignedCheckpoints = (directory: string, signer: Signer): CosignedCheckpoints => {
  /** By origin. Only logs that are known get here. */
  const turns = new Map<string, Semaphore>();

  const readLatest = async (name: string, origin: string): Promise<Checkpoint | null> => {
    const text = await readIfThere(join(directory, name));
    if (text === null) return null;
    try {
      const note = parseNote(text);
      const checkpoint = parseCheckpoint(note.text);
      if (checkpoint.origin === origin && signedAt(note, signer.verifierKey) !== null) return checkpoint;
    } catch {
      // damaged, too
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
