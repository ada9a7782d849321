import { type Checkpoint, leafHash, rootOfInclusion } from '../../../lib/transparency/transparency.ts';
import type { Leaf } from '../leaf.ts';
import { type AccessRow, accessSentence, authorOf, deriveReview, secretEnds } from '../report/access-rows.ts';
import { describeKey } from '../report/key-sentences.ts';
import { describeMessage } from '../report/message-sentences.ts';
import type { Fact, Names } from '../report/words.ts';
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
 * proof must lead to the signed root. Then everything that the report states is derived from the leaves again, by the functions that wrote
 * it, and compared. What no leaf has is listed as not proved.
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

type Texts = [string, string, string, string];

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

/** The statements of a report, derived from its leaves. */
interface Derived {
  readonly id: string;
  readonly title: string;
  readonly facts: readonly Fact[];
  readonly rows: readonly AccessRow[];
  /** Ids of events that the report must show. */
  readonly stated: ReadonlySet<string>;
  describe(leaf: Leaf): { readonly sentence: string; readonly by: string };
}

const textsIn = (list: unknown, key: string, value: string): Names =>
  new Map(Array.isArray(list) ? list.filter(isObject).map((one) => [String(one[key]), String(one[value])]) : []);

/** @param leaves oldest first. */
const derive = (report: Members, leaves: readonly Leaf[]): Derived => {
  const [id, type, madeAt, asOf] = [report.id, report.type, report.made_at, report.as_of].map(String) as Texts;
  const names = textsIn(report.names, 'id', 'name');
  if (type === 'access_review')
    return { id: `access-${asOf.slice(0, 10)}`, ...deriveReview(leaves, { now: asOf, people: names }) };
  const ends = secretEnds(leaves);
  const { sentenceOf, ...described } =
    type === 'api_key' ? describeKey(leaves, id, madeAt) : describeMessage(leaves, id, names);
  return {
    id,
    ...described,
    describe: (leaf) => ({ sentence: sentenceOf(leaf), by: authorOf(leaf, ends, names) }),
    rows: [],
    stated: new Set(),
  };
};

const differs = (what: string, given: unknown, derived: unknown): readonly Finding[] => {
  const [said, proved] = [given, derived].map((value) => JSON.stringify(value));
  return said === proved
    ? []
    : [fault(`${what}: the report says ${said ?? 'nothing'}, but its leaves say ${proved ?? 'nothing'}`)];
};

const eventFindings = (derived: Derived, { event, index, leaf }: CheckedEvent): readonly Finding[] => {
  const { sentence, by } = derived.describe(leaf as unknown as Leaf); // proved, so this service wrote it
  const what = `event ${event.event_id}, leaf ${index}`;
  return [
    ...differs(`${what}, what happened`, event.sentence, sentence),
    ...differs(`${what}, who did it`, event.by, by),
  ];
};

const none = (fields: Members = {}): Members =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, undefined]));

const rowFindings = (given: unknown, rows: readonly AccessRow[]): readonly Finding[] => {
  const table = Array.isArray(given) ? given.map(membersOf) : [];
  const found = rows.flatMap((row, index) =>
    Object.entries<unknown>({ ...none(table[index]), ...row }).flatMap(([name, value]) =>
      differs(`row ${index + 1} of the table, ${row.kind} ${row.id}, ${name}`, table[index]?.[name], value),
    ),
  );
  return [...differs('rows of the table', table.length, rows.length), ...found];
};

/** Facts that no leaf states. */
const UNPROVED_FACTS = ['As of', 'Subject'];

const factFindings = (given: unknown, facts: Derived['facts']): readonly Finding[] => {
  const [said, proved] = [textsIn(given, 'name', 'value'), textsIn(facts, 'name', 'value')];
  const names = [...new Set([...said.keys(), ...proved.keys()])].filter((name) => !UNPROVED_FACTS.includes(name));
  return names.flatMap((name) => differs(`fact "${name}"`, said.get(name), proved.get(name)));
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
      ...differs('id', report.id, derived.id),
      ...differs('title', report.title, derived.title),
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

/** Fields of a report, of its events and of its rows that are derived again or that carry the proofs. */
const CHECKED =
  /^(?:object|type|id|title|facts|access|events|evidence|checkpoint|checkpoint\.note|events\.(?:at|sentence|by|request_id|type|event_id|leaf_index|proof))$/;

const isStated = (value: unknown): boolean => value !== null && (!Array.isArray(value) || value.length > 0);

/** Names of fields with a value that are not checked. */
const uncheckedIn = (path: string, fields: Members): readonly string[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    CHECKED.test(path + name) || !isStated(value) ? [] : [path + name],
  );

const noticesOf = (report: Members): readonly string[] => {
  const stated = [...textsIn(report.names, 'id', 'name')].map(([id, name]) => `${name} (${id})`);
  const facts = [...textsIn(report.facts, 'name', 'value')].filter(([name]) => UNPROVED_FACTS.includes(name));
  const fields = [
    ...uncheckedIn('', { ...report, names: null }),
    ...uncheckedIn('checkpoint.', membersOf(report.checkpoint)),
    ...(report.events as readonly Members[]).flatMap((event) => uncheckedIn('events.', event)),
  ];
  return [
    ...(stated.length === 0 ? [] : [`not proved: names: ${stated.join(', ')}`]),
    ...facts.map(([name, value]) => `not proved: fact "${name}": ${value}`),
    ...(fields.length === 0 ? [] : [`not proved: the fields ${[...new Set(fields)].join(', ')}`]),
    'only this JSON was verified: CSV, HTML and the pages of a PDF are for reading',
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
