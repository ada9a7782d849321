import type { WitnessAnswer } from '../../domain/ports/requests.ts';
import {
  addCheckpointBody,
  MalformedNote,
  parseCheckpoint,
  parseNote,
  signedAt,
  sizeInConflict,
  type VerifierKey,
} from '../../lib/transparency/transparency.ts';

/**
 * The conversation with a witness about one checkpoint (C2SP tlog-witness): the witness says the size that it cosigned
 * last (409), gets the proof from there, and cosigns. Nothing that it says is believed but a signature that is valid, and
 * that it contradicts the log: that is said twice, because something on the way may answer 422 as well.
 */

export type Refusal =
  /** It has cosigned `size` leaves that these do not continue. */
  | { readonly kind: 'contradicted'; readonly size: number }
  /** It cosigns nothing of this log, or does not keep to the protocol. */
  | { readonly kind: 'refused'; readonly why: string };

export type Outcome = Refusal | { readonly kind: 'cosigned'; readonly line: string };

export interface AskToCosign {
  readonly key: VerifierKey;
  /** The checkpoint as it was signed. */
  readonly note: string;
  /** Leaves that the witness cosigned last, as far as is known. */
  readonly knownSize: number;
  /** The proof from that size. */
  prove(oldSize: number): Promise<readonly Buffer[]>;
  /** @throws {WitnessUnreachable} */
  post(body: string): Promise<WitnessAnswer>;
}

const [OK, CONFLICT, UNPROCESSABLE] = [200, 409, 422];
/** Its size is asked for, the proof follows; both once more if what was known of it was wrong. */
const QUESTIONS_MAX = 4;
const SHOWN_CHARACTERS_MAX = 200;

const refused = (why: string): Refusal => ({ kind: 'refused', why });

const isSignedBy = (key: VerifierKey, text: string, line: string): boolean => {
  try {
    return (signedAt(parseNote(`${text}\n${line}\n`), key) ?? 0) > 0;
  } catch (error) {
    if (error instanceof MalformedNote) return false;
    throw error;
  }
};

interface Question {
  readonly oldSize: number;
  /** Size of the checkpoint. */
  readonly size: number;
  /** The witness itself has just said that it cosigned the old size. */
  readonly isConfirmed: boolean;
}

/** 422, or a 409 at the checkpoint's own size: later editions of the specification have 422 for both. */
const isOtherTree = ({ oldSize, size }: Question, { status }: WitnessAnswer): boolean =>
  status === UNPROCESSABLE || (status === CONFLICT && oldSize === size);

const shown = ({ status, body }: WitnessAnswer): string =>
  `it answers ${status} ${body.replaceAll(/\s+/g, ' ').slice(0, SHOWN_CHARACTERS_MAX)}`.trimEnd();

/** The next request, or a refusal, after an answer that is not a cosignature. */
const after = (question: Question, answer: WitnessAnswer): Refusal | Question => {
  const { oldSize, size, isConfirmed } = question;
  const said = (answer.status === CONFLICT ? sizeInConflict(answer.contentType, answer.body) : null) ?? oldSize;
  if (said > size) return { kind: 'contradicted', size: said };
  if (said !== oldSize) return { oldSize: said, size, isConfirmed: said > 0 };
  if (!isOtherTree(question, answer)) return refused(shown(answer));
  return isConfirmed ? { kind: 'contradicted', size: oldSize } : { oldSize: 0, size, isConfirmed: false };
};

/** @throws {WitnessUnreachable} */
export const askToCosign = async ({ key, note, knownSize, prove, post }: AskToCosign): Promise<Outcome> => {
  const { text } = parseNote(note);
  const { size } = parseCheckpoint(text);
  let question: Question = { oldSize: Math.min(knownSize, size), size, isConfirmed: false };
  for (let asked = 0; asked < QUESTIONS_MAX; asked += 1) {
    const { oldSize } = question;
    const answer = await post(addCheckpointBody({ oldSize, proof: await prove(oldSize), note }));
    if (answer.status === OK) {
      const line = answer.body.split('\n').find((each) => isSignedBy(key, text, each));
      return line === undefined ? refused('its answer has no valid cosignature') : { kind: 'cosigned', line };
    }
    const next = after(question, answer);
    if ('kind' in next) return next;
    question = next;
  }
  return refused('it does not keep to the sizes that it says');
};
