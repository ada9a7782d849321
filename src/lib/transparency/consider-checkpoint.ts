import { parseAddCheckpoint, SIZE_MEDIA_TYPE } from './add-checkpoint.ts';
import { EMPTY_ROOT, isConsistent } from './merkle-tree.ts';
import { type Checkpoint, parseCheckpoint, parseNote, signedAt, type VerifierKey } from './signed-note.ts';

/** A witness's response to a checkpoint that a log submits (C2SP tlog-witness, `add-checkpoint`). */

/** A valid request from the log that it names. */
export interface Shown {
  readonly oldSize: number;
  readonly proof: readonly Buffer[];
  readonly checkpoint: Checkpoint;
  /** Text covered by a cosignature. */
  readonly text: string;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const sentence = (status: number, text: string): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: `${text}\n`,
});

/** Validates a request independently of earlier cosignatures. @throws {MalformedNote} if it is not a request. */
export const readRequest = (body: string, logs: readonly VerifierKey[]): Shown | Answer => {
  const { oldSize, proof, note } = parseAddCheckpoint(body);
  const parsed = parseNote(note);
  const checkpoint = parseCheckpoint(parsed.text);
  const keys = logs.filter(({ name }) => name === checkpoint.origin);
  if (keys.length === 0) return sentence(404, 'this log is not known here');
  if (!keys.some((key) => signedAt(parsed, key) !== null)) return sentence(403, 'no key of this log has signed it');
  if (oldSize > checkpoint.size) return sentence(400, 'the old size is larger than the checkpoint');
  return { oldSize, proof, checkpoint, text: parsed.text };
};

/** @param latest the last cosigned checkpoint of this log; null: none. @returns null if it may be cosigned. */
export const problemWith = ({ oldSize, proof, checkpoint }: Shown, latest: Checkpoint | null): Answer | null => {
  const { size, root } = latest ?? { size: 0, root: EMPTY_ROOT };
  if (oldSize !== size) return { status: 409, contentType: SIZE_MEDIA_TYPE, body: `${size}\n` };
  if (checkpoint.size === size && !checkpoint.root.equals(root)) {
    return sentence(422, 'another root was cosigned for this size');
  }
  if (isConsistent([size, root], [checkpoint.size, checkpoint.root], proof)) return null;
  return sentence(422, 'the proof does not lead from what was cosigned to this checkpoint');
};
