import { type AuditContext, noteCosignature, noteDispute } from '../../commands/audit.ts';
import {
  type AuditTrees,
  type WitnessAnswer,
  type Witnesses,
  WitnessUnreachable,
} from '../../domain/ports/requests.ts';
import { type Logger, mapConcurrently } from '../../lib/async/async.ts';
import {
  ADD_CHECKPOINT,
  addCheckpointBody,
  consistencyRanges,
  MalformedNote,
  parseCheckpoint,
  parseNote,
  signedAt,
  sizeInConflict,
  type VerifierKey,
} from '../../lib/transparency/transparency.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';

/**
 * The conversation with a witness about one checkpoint (C2SP tlog-witness): the witness says the size that it cosigned
 * last (409), gets the proof from there, and cosigns. Nothing that it says is believed but a signature that is valid, and
 * that it contradicts the log: that is said twice, because something on the way may answer 422 as well.
 */

type Refusal =
  /** It has cosigned `size` leaves that these do not continue. */
  | { readonly kind: 'contradicted'; readonly size: number }
  /** It cosigns nothing of this log, or does not keep to the protocol. */
  | { readonly kind: 'refused'; readonly why: string };

type Outcome = Refusal | { readonly kind: 'cosigned'; readonly line: string };

interface AskToCosign {
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
  `it returned ${status} ${body.replaceAll(/\s+/g, ' ').slice(0, SHOWN_CHARACTERS_MAX)}`.trimEnd();

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
const askToCosign = async ({ key, note, knownSize, prove, post }: AskToCosign): Promise<Outcome> => {
  const { text } = parseNote(note);
  const { size } = parseCheckpoint(text);
  let question: Question = { oldSize: Math.min(knownSize, size), size, isConfirmed: false };
  for (let asked = 0; asked < QUESTIONS_MAX; asked += 1) {
    const { oldSize } = question;
    const answer = await post(addCheckpointBody({ oldSize, proof: await prove(oldSize), note }));
    if (answer.status === OK) {
      const line = answer.body.split('\n').find((each) => isSignedBy(key, text, each));
      return line === undefined ? refused('its response has no valid cosignature') : { kind: 'cosigned', line };
    }
    const next = after(question, answer);
    if ('kind' in next) return next;
    question = next;
  }
  return refused('it contradicts the sizes that it reports');
};

/**
 * Asks witnesses to cosign checkpoints (C2SP tlog-witness). Each witness has a loop of its own, separate from the signing,
 * so that a slow or broken witness does not delay others. The read model tells what a witness has not cosigned, so that
 * the current leader asks again after a crash.
 */

/** The newest checkpoint of a tree. */
interface CheckpointToCosign {
  readonly tree: string;
  readonly note: string;
}

/** A witness that the operator has named. */
export interface Witness {
  readonly name: string;
  readonly key: VerifierKey;
  /** Without the path of the request. */
  readonly url: string;
}

export interface AskWitnesses extends AuditContext {
  readonly trees: Pick<AuditTrees, 'hashes'> & {
    /** Newest checkpoints that the witness with this key (`<name>+<id>`) has not cosigned. */
    uncosigned(by: {
      readonly signatory: string;
      readonly without: readonly string[];
      readonly limit: number;
    }): Promise<readonly CheckpointToCosign[]>;
  };
  readonly way: Pick<Witnesses, 'post'>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly logger: Logger;
  /** How often new checkpoints are looked for. */
  readonly everyMs: number;
}

/** Trees of one query. */
const TREES_MAX = 200;
/** Asked about at once. */
const CONCURRENCY = 4;
/** After a witness refused a tree, until it is asked about it again; after none was reached, of all. It doubles. */
const WAIT_MS_MIN = 5_000;
const WAIT_MS_MAX = 600_000;

interface Wait {
  readonly ms: number;
  readonly untilMs: number;
}

const CAUSES = 'the log was restored or changed, and is no longer signed';

/** The loop of one witness. */
const askWitness = (options: AskWitnesses, { name, key, url }: Witness): Work => {
  const { trees, way, leadership, logger, system, everyMs } = options;
  const signatory = key.text.slice(0, key.text.lastIndexOf('+'));
  /** Leaves of which the witness's cosignature is on record, by origin. */
  const sizes = new Map<string, number>();
  /** Trees, or '' for the witness itself, that are left alone for now. */
  const waits = new Map<string, Wait>();

  const startWait = (tree: string): Wait => {
    const ms = Math.min(WAIT_MS_MAX, 2 * (waits.get(tree)?.ms ?? WAIT_MS_MIN / 2));
    const wait = { ms, untilMs: system.monotonicMs() + ms };
    waits.set(tree, wait);
    return wait;
  };

  const say = async ({ tree, note }: CheckpointToCosign, outcome: Refusal): Promise<void> => {
    const { ms } = startWait(tree);
    const fields = { tree, alarm: 'audit', witness: name };
    if (outcome.kind === 'refused') {
      if (ms === WAIT_MS_MIN) logger.error(fields, `a witness refuses to cosign: ${outcome.why}`);
      return;
    }
    if (!(await noteDispute(options, { tree, note, witness: name, cosignedSize: outcome.size }))) return;
    logger.error(fields, `a witness has cosigned ${outcome.size} leaves of a different history: ${CAUSES}`);
  };

  const ask = async (checkpoint: CheckpointToCosign, signal: AbortSignal): Promise<void> => {
    const { tree, note } = checkpoint;
    const { origin, size } = parseCheckpoint(parseNote(note).text);
    const knownSize = sizes.get(origin) ?? 0;
    if (knownSize >= size) return; // it is on record, and the read model is behind
    const outcome = await askToCosign({
      key,
      note,
      knownSize,
      prove: (oldSize) => trees.hashes(tree, consistencyRanges(oldSize, size)),
      post: (body) => way.post(`${url}${ADD_CHECKPOINT}`, body, signal),
    });
    if (outcome.kind !== 'cosigned') {
      await say(checkpoint, outcome);
      return;
    }
    waits.delete(tree);
    await noteCosignature(options, { tree, note, line: outcome.line });
    sizes.set(origin, size);
  };

  const round = async (signal: AbortSignal): Promise<void> => {
    const nowMs = system.monotonicMs();
    const without = [...waits].filter(([, { untilMs }]) => untilMs > nowMs).map(([tree]) => tree);
    const asked = await trees.uncosigned({ signatory, without, limit: TREES_MAX });
    await mapConcurrently(asked, { system, concurrency: CONCURRENCY }, (checkpoint) => ask(checkpoint, signal));
    if (asked.length > 0 && waits.delete('')) logger.info({ witness: name }, 'a witness is reachable again');
  };

  /** @returns how long to wait for the next. */
  const unreached = (error: unknown): number => {
    if (!(error instanceof WitnessUnreachable)) throw error;
    if (!waits.has('')) logger.warn({ witness: name }, `cannot reach a witness: ${error.message}`);
    return startWait('').ms;
  };

  return repeat(system, async (signal) => {
    if (!leadership.isLeader()) return everyMs;
    try {
      await round(signal);
      return everyMs;
    } catch (error) {
      return unreached(error);
    }
  });
};

/** A loop for each witness, by name. */
export const askWitnesses = (options: AskWitnesses, witnesses: readonly Witness[]): Readonly<Record<string, Work>> =>
  Object.fromEntries(
    witnesses.map((witness) => [`asking of the witness ${witness.name}`, askWitness(options, witness)]),
  );
