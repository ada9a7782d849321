import { type Checkpoint, leafHash, rootOfInclusion } from '../../../lib/transparency/transparency.ts';
import type { Leaf } from '../leaf.ts';
import { type AccessRow, accessSentence, authorOf, deriveReview, secretEnds } from '../report/access-rows.ts';
import { describeKey } from '../report/key-sentences.ts';
import type { Names } from '../report/words.ts';
import {
  cosignersOf,
  createLogKeys,
  type EarlierCheckpoint,
  isQuorum,
  readCheckpoint,
  type SignedCheckpoint,
} from './checkpoints.ts';
import { type Finding, isObject, type Members } from './disclosure.ts';
import type { BodyOptions } from './export-body.ts';
import { cosignerSentences, doubt, fault, NOTHING, type Verdict, verdictBy } from './judgement.ts';

/**
 * Verifies a report about a key, a message or access, as JSON or extracted from its PDF (docs/audit.md). Each leaf is hashed, and its
 * proof must lead to the signed root. Then what the report says is derived from the leaves again, by the functions that wrote it, and
 * compared: who did each event, each sentence about a key or about access, each row and count of an access review. Sentences about a message
 * quote texts that no leaf has, and are not derived.
 */

const HEAD = /^\s*\{\s*"object"\s*:\s*"audit_report"/;

/** Whether a file is a report. @param head the first bytes of the file. */
export const isReport = (head: string): boolean => HEAD.test(head);

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
  ['at', 'time', ({ metadata }: Members) => membersOf(metadata).occurredAt],
  ['request_id', 'request', ({ metadata }: Members) => membersOf(metadata).requestId ?? null],
] as const;

const membersOf = (value: unknown): Members => (isObject(value) ? value : {});

const wordsOf = (leaf: Members, index: number): string => {
  const { occurredAt, actor } = membersOf(leaf.metadata);
  return `leaf ${index}, event ${leaf.id}: ${leaf.type}, ${occurredAt}, by ${actor}, ${JSON.stringify(leaf.data)}`;
};

const bytesOf = (hashes: unknown): readonly Buffer[] =>
  Array.isArray(hashes) ? hashes.map((hash) => Buffer.from(String(hash), 'base64')) : [];

const isLeafOf = ({ size, root }: Checkpoint, index: number, leaf: string, hashes: unknown): boolean =>
  rootOfInclusion(index, size, leafHash(leaf), bytesOf(hashes))?.equals(root) === true;

/** An event of a report, or a leaf that supports its sentences, and the leaf that its proof has; null: it is not proved. */
interface CheckedEvent {
  readonly event: Members;
  readonly index: number;
  readonly leaf: Members | null;
  readonly findings: readonly Finding[];
}

const checkEvent = (event: Members, checkpoint: Checkpoint, said: typeof SAID | readonly []): CheckedEvent => {
  const { event_id: id, leaf_index: index, proof } = event;
  const refused = (finding: Finding): CheckedEvent => ({ event, index: -1, leaf: null, findings: [finding] });
  if (proof === null) return refused(doubt(`event ${id} is not in a signed checkpoint of this report`));
  const { leaf: text, hashes } = membersOf(proof);
  const leaf = typeof text === 'string' ? parsed(text) : null;
  const isIndex = typeof index === 'number' && Number.isSafeInteger(index) && index >= 0;
  if (!isIndex || typeof text !== 'string' || !isObject(leaf) || !isLeafOf(checkpoint, index, text, hashes))
    return refused(fault(`event ${id} is not leaf ${index} of the signed log`));
  const findings = said
    .filter(([name, , of]) => event[name] !== of(leaf))
    .map(([, what]) => fault(`event ${id}: the report and leaf ${index} have different values for its ${what}`));
  return { event, index, leaf, findings };
};

/** Sentences and rows of the report, derived from its leaves. */
interface Derived {
  describe(leaf: Leaf): { readonly sentence?: string; readonly by: string };
  readonly rows: readonly AccessRow[];
  readonly facts: readonly { readonly name: string; readonly value: string }[];
  /** Ids of events that the report must show. */
  readonly stated: ReadonlySet<string>;
}

const namesIn = (names: unknown): Names =>
  new Map(Array.isArray(names) ? names.filter(isObject).map(({ id, name }) => [String(id), String(name)]) : []);

/** @param leaves oldest first. */
const derive = (report: Members, leaves: readonly Leaf[]): Derived => {
  const names = namesIn(report.names);
  if (report.type === 'access_review') return deriveReview(leaves, { now: String(report.as_of), people: names });
  const ends = secretEnds(leaves);
  const sentenceOf = report.type === 'api_key' ? describeKey(leaves, String(report.id)) : null;
  return {
    describe: (leaf) => ({
      ...(sentenceOf === null ? {} : { sentence: sentenceOf(leaf) }),
      by: authorOf(leaf, ends, names),
    }),
    rows: [],
    facts: [],
    stated: new Set(),
  };
};

const differs = (what: string, given: unknown, derived: unknown): readonly Finding[] => {
  const [said, proved] = [given, derived].map((value) => JSON.stringify(value));
  return said === proved ? [] : [fault(`${what}: the report says ${said ?? 'nothing'}, but its leaves say ${proved}`)];
};

const eventFindings = (derived: Derived, { event, index, leaf }: CheckedEvent): readonly Finding[] => {
  const { sentence = event.sentence, by } = derived.describe(leaf as unknown as Leaf); // proved, so this service wrote it
  const what = `event ${event.event_id}, leaf ${index}`;
  return [
    ...differs(`${what}, what happened`, event.sentence, sentence),
    ...differs(`${what}, who did it`, event.by, by),
  ];
};

const rowFindings = (given: unknown, rows: readonly AccessRow[]): readonly Finding[] => {
  const table = Array.isArray(given) ? given.map(membersOf) : [];
  const found = rows.flatMap((row, index) =>
    Object.entries(row).flatMap(([name, value]) =>
      differs(`row ${index + 1} of the table, ${row.kind} ${row.id}, ${name}`, table[index]?.[name], value),
    ),
  );
  return [...differs('rows of the table', table.length, rows.length), ...found];
};

const factFindings = (given: unknown, facts: Derived['facts']): readonly Finding[] => {
  const said = namesIn(
    Array.isArray(given) ? given.filter(isObject).map(({ name, value }) => ({ id: name, name: value })) : [],
  );
  return facts.flatMap(({ name, value }) => differs(name, said.get(name), value));
};

const inOrder = (all: readonly CheckedEvent[]): readonly Leaf[] =>
  all.toSorted((one, other) => one.index - other.index).map(({ leaf }) => leaf as unknown as Leaf);

/** Findings about what the report says, and its derived rows in sentences. */
const derivedFindings = (
  report: Members,
  shown: readonly CheckedEvent[],
  others: readonly CheckedEvent[],
): { readonly findings: readonly Finding[]; readonly words: readonly string[] } => {
  const all = [...shown, ...others];
  const isComplete = Array.isArray(report.evidence) && all.every(({ leaf }) => leaf !== null);
  if (!isComplete) {
    const why =
      'what the report says was not derived again, because it does not have proofs of all leaves: verify an export';
    return { findings: [doubt(why)], words: [] };
  }
  try {
    const derived = derive(report, inOrder(all));
    const ids = new Set(shown.map(({ event }) => event.event_id));
    const hidden = [...derived.stated].filter((id) => !ids.has(id));
    const findings = [
      ...shown.flatMap((each) => eventFindings(derived, each)),
      ...rowFindings(report.access, derived.rows),
      ...factFindings(report.facts, derived.facts),
      ...hidden.map((id) => fault(`event ${id} gives, changes or ends access, but the report does not show it`)),
    ];
    return { findings, words: derived.rows.map(accessSentence) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { findings: [fault('a leaf is not an event of this service')], words: [] };
  }
};

const signatureFindings = ({ keys }: BodyOptions, { note, checkpoint }: SignedCheckpoint): readonly Finding[] => {
  const signed = createLogKeys(keys).check(note, checkpoint.size);
  if (signed === 'trusted') return [];
  if (signed === 'forged') return [fault('the signature of the checkpoint is forged')];
  const why =
    keys.length === 0
      ? 'no key was given, so the signature proves nothing: pass --key'
      : 'it is signed by a different key than the given one: an export shows if that key followed yours';
  return [doubt(why)];
};

const earlierFinding = ({ name, signed }: EarlierCheckpoint, { checkpoint }: SignedCheckpoint): Finding | null => {
  const { origin, size, root } = checkpoint;
  if (signed?.checkpoint.origin !== origin || signed.checkpoint.size !== size)
    return doubt(`${name} can only be compared with an export`);
  if (signed.checkpoint.root.equals(root)) return null;
  return fault(
    `${name} has a different root for the first ${size} leaves than this report. Keep both: together they prove that the log was rewritten`,
  );
};

const NOT_PROVED: Readonly<Record<string, string>> = {
  access_review: 'addresses of requests are not proved',
  api_key: 'addresses of requests, facts, and counts of sent messages are not proved',
  message: 'addresses of requests, facts, and what sentences say are not proved: compare them with the leaves',
};

const noticesOf = ({ type, names }: Members): readonly string[] => {
  const stated = [...namesIn(names)].map(([id, name]) => `${name} (${id})`);
  return [
    ...(stated.length === 0 ? [] : [`names that no leaf states: ${stated.join(', ')}`]),
    NOT_PROVED[String(type)] ?? (NOT_PROVED.message as string),
    'only an export shows that no event was left out',
  ];
};

const judgeReport = (report: Members, signed: SignedCheckpoint, options: BodyOptions): Verdict => {
  const { quorum, since, expected, disclosures } = options;
  const { note, checkpoint } = signed;
  const shown = (report.events as readonly Members[]).map((event) => checkEvent(event, checkpoint, SAID));
  const evidence = Array.isArray(report.evidence) ? report.evidence.map(membersOf) : [];
  const others = evidence.map((event) => checkEvent(event, checkpoint, []));
  const derived = derivedFindings(report, shown, others);
  const { times, forged } = cosignersOf(note, quorum.policy.witnesses);
  const findings = [
    ...[...shown, ...others].flatMap((one) => one.findings),
    ...derived.findings,
    ...signatureFindings(options, signed),
    ...forged.map((name) => fault(`the cosignature of ${name} is forged`)),
    ...(isQuorum(quorum, new Set(times.keys())) ? [] : [doubt('no quorum of witnesses has cosigned')]),
    ...since.map((each) => earlierFinding(each, signed)).filter((one) => one !== null),
    ...([...expected, ...disclosures].length > 0
      ? [doubt('--expect and --disclosures need an export, not a report')]
      : []),
  ];
  const leaves = shown.flatMap(({ leaf, index }) => (leaf === null ? [] : [wordsOf(leaf, index)]));
  return verdictBy(findings, 0, {
    ...NOTHING,
    origin: checkpoint.origin,
    size: checkpoint.size,
    root: checkpoint.root.toString('base64'),
    notices: noticesOf(report),
    disclosed: [...derived.words, ...leaves],
    kept: since.length,
    cosigners: cosignerSentences(times),
  });
};

export const verifyReport = (text: string, options: BodyOptions): Verdict => {
  const report = parsed(text);
  if (!isObject(report) || !Array.isArray(report.events) || !report.events.every(isObject))
    return verdictBy([fault('this is not a report')], 0, NOTHING);
  const { checkpoint } = report;
  if (checkpoint === null) return verdictBy([doubt('none of its events were signed when it was made')], 0, NOTHING);
  const note = isObject(checkpoint) ? checkpoint.note : null;
  const signed = typeof note === 'string' ? readCheckpoint(note) : null;
  if (signed === null) return verdictBy([fault('its checkpoint is malformed')], 0, NOTHING);
  return judgeReport(report, signed, options);
};
