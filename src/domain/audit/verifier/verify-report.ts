import { type Checkpoint, leafHash, rootOfInclusion } from '../../../lib/transparency/transparency.ts';
import { cosignersOf, type EarlierCheckpoint, isQuorum, readCheckpoint, type SignedCheckpoint } from './checkpoints.ts';
import type { Finding } from './compare-bundle.ts';
import type { BodyOptions } from './export-body.ts';
import { cosignerSentences, doubt, fault, NOTHING, type Verdict, verdictBy } from './judgement.ts';
import { createLogKeys } from './log-keys.ts';

/**
 * Verifies a report about a key or a message, as JSON or extracted from its PDF (docs/audit.md). Each leaf is hashed,
 * and its proof must lead to the signed root. The sentences of a report are not proved by anything, so the verdict
 * lists the contents of the leaves.
 */

const HEAD = /^\s*\{\s*"object"\s*:\s*"audit_report"/;

/** Whether a file is a report. @param head the first bytes of the file. */
export const isReport = (head: string): boolean => HEAD.test(head);

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** Fields that both the report and the leaf state about an event. */
const SAID = [
  ['event_id', 'id', (leaf: Members) => leaf.id],
  ['type', 'type', (leaf: Members) => leaf.type],
  ['at', 'time', ({ metadata }: Members) => (isObject(metadata) ? metadata.occurredAt : undefined)],
] as const;

const wordsOf = (leaf: Members, index: number): string => {
  const { occurredAt, actor } = isObject(leaf.metadata) ? leaf.metadata : {};
  return `leaf ${index}, event ${leaf.id}: ${leaf.type}, ${occurredAt}, by ${actor}`;
};

const bytesOf = (hashes: unknown): readonly Buffer[] =>
  Array.isArray(hashes) ? hashes.map((hash) => Buffer.from(String(hash), 'base64')) : [];

const isLeafOf = ({ size, root }: Checkpoint, index: number, leaf: string, hashes: unknown): boolean =>
  rootOfInclusion(index, size, leafHash(leaf), bytesOf(hashes))?.equals(root) === true;

interface Checked {
  readonly findings: readonly Finding[];
  /** Description of the leaf; empty if it is not proved. */
  readonly words: readonly string[];
}

const refused = (finding: Finding): Checked => ({ findings: [finding], words: [] });

const checkEvent = (event: Members, checkpoint: Checkpoint): Checked => {
  const { event_id: id, leaf_index: index, proof } = event;
  if (proof === null) return refused(doubt(`event ${id} is in no signed checkpoint of this report`));
  const { leaf: text, hashes } = isObject(proof) ? proof : {};
  const leaf = typeof text === 'string' ? parsed(text) : null;
  const isIndex = typeof index === 'number' && Number.isSafeInteger(index) && index >= 0;
  if (!isIndex || typeof text !== 'string' || !isObject(leaf) || !isLeafOf(checkpoint, index, text, hashes))
    return refused(fault(`event ${id} is not leaf ${index} of what was signed`));
  const findings = SAID.filter(([name, , of]) => event[name] !== of(leaf)).map(([, what]) =>
    fault(`event ${id}: the report says another ${what} than leaf ${index}`),
  );
  return { findings, words: [wordsOf(leaf, index)] };
};

const signatureFindings = ({ keys }: BodyOptions, { note, checkpoint }: SignedCheckpoint): readonly Finding[] => {
  const signed = createLogKeys(keys).check(note, checkpoint.size);
  if (signed === 'trusted') return [];
  if (signed === 'forged') return [fault('the signature of the checkpoint is forged')];
  const why =
    keys.length === 0
      ? 'no key was given, so anyone may have made the signature'
      : 'it is signed by another key than the one that was given: an export shows whether that one followed';
  return [doubt(why)];
};

const earlierFinding = ({ name, signed }: EarlierCheckpoint, { checkpoint }: SignedCheckpoint): Finding | null => {
  const { origin, size, root } = checkpoint;
  if (signed?.checkpoint.origin !== origin || signed.checkpoint.size !== size)
    return doubt(`${name} can only be compared with an export`);
  if (signed.checkpoint.root.equals(root)) return null;
  return fault(`${name} says another root at ${size} leaves than this report. Keep both: together they prove it`);
};

const judgeReport = (events: readonly Members[], signed: SignedCheckpoint, options: BodyOptions): Verdict => {
  const { quorum, since, expected, disclosures } = options;
  const { note, checkpoint } = signed;
  const checked = events.map((event) => checkEvent(event, checkpoint));
  const { times, forged } = cosignersOf(note, quorum.policy.witnesses);
  const findings = [
    ...checked.flatMap((one) => one.findings),
    ...signatureFindings(options, signed),
    ...forged.map((name) => fault(`the cosignature of ${name} is forged`)),
    ...(isQuorum(quorum, new Set(times.keys())) ? [] : [doubt('the quorum of witnesses is missed')]),
    ...since.map((each) => earlierFinding(each, signed)).filter((one) => one !== null),
    ...([...expected, ...disclosures].length > 0 ? [doubt('ids and disclosures are looked for in an export')] : []),
  ];
  return verdictBy(findings, 0, {
    ...NOTHING,
    origin: checkpoint.origin,
    size: checkpoint.size,
    root: checkpoint.root.toString('base64'),
    disclosed: checked.flatMap(({ words }) => words),
    cosigners: cosignerSentences(times),
  });
};

export const verifyReport = (text: string, options: BodyOptions): Verdict => {
  const report = parsed(text);
  if (!isObject(report) || !Array.isArray(report.events) || !report.events.every(isObject))
    return verdictBy([fault('this is no report')], 0, NOTHING);
  const { events, checkpoint } = report;
  if (checkpoint === null) return verdictBy([doubt('nothing of it was signed when it was made')], 0, NOTHING);
  const note = isObject(checkpoint) ? checkpoint.note : null;
  const signed = typeof note === 'string' ? readCheckpoint(note) : null;
  if (signed === null) return verdictBy([fault('its checkpoint is malformed')], 0, NOTHING);
  return judgeReport(events, signed, options);
};
