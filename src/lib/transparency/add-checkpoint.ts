import { HASH_BYTES } from './merkle-tree.ts';
import { MalformedNote } from './signed-note.ts';

/**
 * The request `add-checkpoint`, by which a log asks a witness to cosign a checkpoint, and its responses (C2SP
 * tlog-witness).
 */

export interface AddCheckpoint {
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
    throw new MalformedNote('a line of the proof is no hash in base64');
  }
  return bytes;
};

/** @throws {MalformedNote}. The note itself is not parsed. */
export const parseAddCheckpoint = (body: string): AddCheckpoint => {
  const end = body.indexOf('\n\n');
  const [first = '', ...lines] = body.slice(0, Math.max(0, end)).split('\n');
  const [, size = ''] = /^old (\d+)$/.exec(first) ?? [];
  if (!SIZE.test(size)) throw new MalformedNote('the request begins with a line `old <size>`');
  if (lines.length > PROOF_LINES_MAX) throw new MalformedNote(`a proof has ${PROOF_LINES_MAX} lines at most`);
  return { oldSize: Number(size), proof: lines.map(hashOf), note: body.slice(end + 2) };
};

/** The size in the body of a 409; null if it has none. */
export const sizeInConflict = (contentType: string, body: string): number | null => {
  const size = /^(\d{1,15})\n$/.exec(body)?.[1] ?? '';
  return contentType === SIZE_MEDIA_TYPE && SIZE.test(size) ? Number(size) : null;
};
