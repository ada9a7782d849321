import { EMPTY_ROOT, HASH_BYTES, isConsistent } from './merkle-tree.ts';
import {
  type Checkpoint,
  MalformedNote,
  parseCheckpoint,
  parseNote,
  signedAt,
  type VerifierKey,
} from './signed-note.ts';

/**
 * The request `add-checkpoint`, by which a log asks a witness to cosign a checkpoint, and its responses (C2SP
 * tlog-witness).
 */

interface AddCheckpoint {
  /** Leaves of the last checkpoint that the witness cosigned, as far as the log knows; 0: none. */
  readonly oldSize: number;
  /** Proof of consistency from the old size. */
  readonly proof: readonly Buffer[];
  readonly note: string;
}

/** Path, appended to the URL of a witness. */
export const ADD_CHECKPOINT = '/add-checkpoint';

/** Media type of a 409, whose body is the size of the last checkpoint that the witness cosigned. */
export const SIZE_MEDIA_TYPE = 'text/x.tlog.size';

/** Lines of a proof: enough for 2^63 leaves. */
const PROOF_LINES_MAX = 63;
/** Size of a request: the maximum of a note, plus a proof. */
export const REQUEST_BYTES_MAX = 65_536 + PROOF_LINES_MAX * 45 + 32;
const SIZE = /^(?:0|[1-9]\d{0,14})$/;

export const addCheckpointBody = ({ oldSize, proof, note }: AddCheckpoint): string =>
  `old ${oldSize}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;

const hashOf = (line: string): Buffer => {
  const bytes = Buffer.from(line, 'base64');
  if (bytes.length !== HASH_BYTES || bytes.toString('base64') !== line) {
    throw new MalformedNote('a line of the proof is not a hash in base64');
  }
  return bytes;
};

/** @throws {MalformedNote}. The note itself is not parsed. */
const parseAddCheckpoint = (body: string): AddCheckpoint => {
  const end = body.indexOf('\n\n');
  const [first = '', ...lines] = body.slice(0, Math.max(0, end)).split('\n');
  const [, size = ''] = /^old (\d+)$/.exec(first) ?? [];
  if (!SIZE.test(size)) throw new MalformedNote('the request must begin with a line `old <size>`');
  if (lines.length > PROOF_LINES_MAX) throw new MalformedNote(`the proof has more than ${PROOF_LINES_MAX} lines`);
  return { oldSize: Number(size), proof: lines.map(hashOf), note: body.slice(end + 2) };
};

/** The size in the body of a 409; null if it has none. */
export const sizeInConflict = (contentType: string, body: string): number | null => {
  const size = /^(\d{1,15})\n$/.exec(body)?.[1] ?? '';
  return contentType === SIZE_MEDIA_TYPE && SIZE.test(size) ? Number(size) : null;
};

/** A witness's response to a checkpoint that a log submits (C2SP tlog-witness, `add-checkpoint`). */

/** A valid request from the log that it names. */
export interface CosignRequest {
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
export const readRequest = (body: string, logs: readonly VerifierKey[]): CosignRequest | Answer => {
  const { oldSize, proof, note } = parseAddCheckpoint(body);
  const parsed = parseNote(note);
  const checkpoint = parseCheckpoint(parsed.text);
  const keys = logs.filter(({ name }) => name === checkpoint.origin);
  if (keys.length === 0) return sentence(404, 'unknown log: this witness is not configured for it');
  if (!keys.some((key) => signedAt(parsed, key) !== null))
    return sentence(403, 'the checkpoint is not signed by a key of this log');
  if (oldSize > checkpoint.size) return sentence(400, 'the old size is larger than the checkpoint');
  return { oldSize, proof, checkpoint, text: parsed.text };
};

/** @param latest the last cosigned checkpoint of this log; null: none. @returns null if it may be cosigned. */
export const problemWith = (
  { oldSize, proof, checkpoint }: CosignRequest,
  latest: Checkpoint | null,
): Answer | null => {
  const { size, root } = latest ?? { size: 0, root: EMPTY_ROOT };
  if (oldSize !== size) return { status: 409, contentType: SIZE_MEDIA_TYPE, body: `${size}\n` };
  if (checkpoint.size === size && !checkpoint.root.equals(root)) {
    return sentence(422, 'this witness has cosigned a different root for this size');
  }
  if (isConsistent([size, root], [checkpoint.size, checkpoint.root], proof)) return null;
  return sentence(422, 'the proof does not connect the last cosigned checkpoint to this one');
};
