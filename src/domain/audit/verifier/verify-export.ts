import { type Checkpoint, leafHash, rootOfInclusion, subtreesOf } from '../../../lib/transparency/transparency.ts';
import { type ExportHeader, exportEndBegin, readExportLine } from '../leaf.ts';
import {
  cosignersOf,
  createLogKeys,
  type EarlierCheckpoint,
  isQuorum,
  readCheckpoint,
  type SignedCheckpoint,
} from './checkpoints.ts';
import { type Finding, isObject, type Members } from './disclosure.ts';
import { type BodyOptions, createExportBody } from './export-body.ts';
import { cosignerSentences, doubt, fault, judge, NOTHING, type Verdict, verdictBy } from './judgement.ts';

/**
 * Verifies an export of a log (docs/audit.md), line by line. Nothing in the file is trusted: every leaf is hashed, the
 * tree is rebuilt, and the hashes, roots and keys in the file are compared with the result. Verification continues
 * after a fault, so that all faults are listed. Memory is constant except for 16 to 32 bytes for each event and each
 * stream.
 */

interface VerifyOptions extends BodyOptions {
  /** SHA-256 (hexadecimal) of all lines before the current one, followed by this text. */
  checksum(text: string): string;
}

export interface ExportVerifier {
  /**
   * Processes a line.
   * @param text a line without its line feed; null if it is not UTF-8, too long, or has no line feed.
   */
  line(text: string | null): void;
  end(): Verdict;
}

/** Further findings are counted, not listed. */
const FINDINGS_MAX = 100;

const createFindings = () => {
  const all: Finding[] = [];
  let more = 0;
  return {
    all,
    more: () => more,
    add: (finding: Finding): void => {
      if (all.length < FINDINGS_MAX) all.push(finding);
      else more += 1;
    },
  };
};

type Body = ReturnType<typeof createExportBody>;

export const createExportVerifier = (options: VerifyOptions): ExportVerifier => {
  const findings = createFindings();
  let body: Body | null = null;
  let checkpoint: string | null = null;
  let lines = 0;

  const fault = (sentence: string): void => findings.add({ kind: 'fault', sentence });

  const begin = (header: ExportHeader): void => {
    const isWhole = header.edge.length === subtreesOf({ from: 0, to: header.from }).length;
    if (!isWhole || header.from > header.size) fault('the header contradicts itself');
    else body = createExportBody(header, options, findings.add);
  };

  const finish = (text: string, sha256: string): void => {
    checkpoint = text;
    const own = options.checksum(exportEndBegin(text));
    if (own !== sha256) fault('the checksum does not match: the file was changed or damaged');
  };

  const take = (open: Body, text: string): void => {
    const line = readExportLine(text);
    if (line.kind === 'leaf') open.leaf(line.leaf);
    else if (line.kind === 'hashes') open.hashes(line.hashes);
    else if (line.kind === 'end') finish(line.checkpoint, line.sha256);
    else fault(`line ${lines} is not a leaf, hashes or the end`);
  };

  const first = (text: string): void => {
    const line = readExportLine(text);
    if (line.kind === 'header') begin(line.header);
  };

  return {
    line: (text) => {
      lines += 1;
      if (text === null) fault(`line ${lines} is not UTF-8 text that ends with a line feed`);
      else if (checkpoint !== null) fault(`line ${lines} comes after the checkpoint`);
      else if (body !== null) take(body, text);
      else if (lines === 1) first(text);
    },
    end: () => {
      const last = body?.flush() ?? null;
      if (last === null) fault('this is not an export: its first line is not an export header');
      else if (checkpoint === null) fault(`the end is cut off: no checkpoint follows leaf ${last}`);
      const roots = body?.earlierRoots;
      const earlier = options.since.map((each) => ({ each, root: roots?.get(each.signed?.checkpoint.size ?? -1) }));
      return judge({ findings: findings.all, more: findings.more(), parts: body?.parts ?? null, checkpoint, earlier });
    },
  };
};

/**
 * Verifies a report about a key or a message, as JSON or extracted from its PDF (docs/audit.md). Each leaf is hashed,
 * and its proof must lead to the signed root. The verdict lists the contents of the leaves. What the sentences say about
 * secrets, operators and keys is derived from the leaves again; names of people and domains are not in them. Tables and
 * facts are not derived, and the verdict says so.
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
  ['at', 'time', ({ metadata }: Members) => (isObject(metadata) ? metadata.occurredAt : undefined)],
] as const;

const membersOf = (value: unknown): Members => (isObject(value) ? value : {});

const wordsOf = (leaf: Members, index: number): string => {
  const { occurredAt, actor } = membersOf(leaf.metadata);
  return `leaf ${index}, event ${leaf.id}: ${leaf.type}, ${occurredAt}, by ${actor}, ${JSON.stringify(leaf.data)}`;
};

/** Words that the report must have about a leaf, by the field that has them. */
const wordsIn = ({ data, metadata }: Members): readonly (readonly ['sentence' | 'by', string])[] => {
  const { actor, secret, operator } = membersOf(metadata);
  const { last4 } = membersOf(membersOf(data).secret);
  const { user, host } = membersOf(operator);
  const [type, id] = String(actor).split(':');
  return [
    ...(last4 === undefined ? [] : [['sentence', `ends in ${last4}`] as const]),
    ...(type === 'key' ? [['by', `API key ${id}`] as const] : []),
    ...(secret === undefined ? [] : [['by', `secret number ${secret},`] as const]),
    ...(operator === undefined ? [] : [['by', `${user} at ${host}`] as const]),
  ];
};

const bytesOf = (hashes: unknown): readonly Buffer[] =>
  Array.isArray(hashes) ? hashes.map((hash) => Buffer.from(String(hash), 'base64')) : [];

const isLeafOf = ({ size, root }: Checkpoint, index: number, leaf: string, hashes: unknown): boolean =>
  rootOfInclusion(index, size, leafHash(leaf), bytesOf(hashes))?.equals(root) === true;

interface LeafVerdict {
  readonly findings: readonly Finding[];
  /** Description of the leaf; empty if it is not proved. */
  readonly words: readonly string[];
}

const refused = (finding: Finding): LeafVerdict => ({ findings: [finding], words: [] });

const checkEvent = (event: Members, checkpoint: Checkpoint): LeafVerdict => {
  const { event_id: id, leaf_index: index, proof } = event;
  if (proof === null) return refused(doubt(`event ${id} is not in a signed checkpoint of this report`));
  const { leaf: text, hashes } = isObject(proof) ? proof : {};
  const leaf = typeof text === 'string' ? parsed(text) : null;
  const isIndex = typeof index === 'number' && Number.isSafeInteger(index) && index >= 0;
  if (!isIndex || typeof text !== 'string' || !isObject(leaf) || !isLeafOf(checkpoint, index, text, hashes))
    return refused(fault(`event ${id} is not leaf ${index} of the signed log`));
  const findings = SAID.filter(([name, , of]) => event[name] !== of(leaf)).map(([, what]) =>
    fault(`event ${id}: the report and leaf ${index} have different values for its ${what}`),
  );
  const unsaid = wordsIn(leaf)
    .filter(([name, words]) => !`${event[name]},`.includes(words))
    .map(([, words]) => fault(`event ${id}: leaf ${index} says "${words}", but the report does not`));
  return { findings: [...findings, ...unsaid], words: [wordsOf(leaf, index)] };
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

const judgeReport = (events: readonly Members[], signed: SignedCheckpoint, options: BodyOptions): Verdict => {
  const { quorum, since, expected, disclosures } = options;
  const { note, checkpoint } = signed;
  const checked = events.map((event) => checkEvent(event, checkpoint));
  const { times, forged } = cosignersOf(note, quorum.policy.witnesses);
  const findings = [
    ...checked.flatMap((one) => one.findings),
    ...signatureFindings(options, signed),
    ...forged.map((name) => fault(`the cosignature of ${name} is forged`)),
    ...(isQuorum(quorum, new Set(times.keys())) ? [] : [doubt('no quorum of witnesses has cosigned')]),
    ...since.map((each) => earlierFinding(each, signed)).filter((one) => one !== null),
    ...([...expected, ...disclosures].length > 0
      ? [doubt('--expect and --disclosures need an export, not a report')]
      : []),
  ];
  return verdictBy(findings, 0, {
    ...NOTHING,
    origin: checkpoint.origin,
    size: checkpoint.size,
    root: checkpoint.root.toString('base64'),
    notices: ['only these leaves are proved: compare tables and facts with them'],
    disclosed: checked.flatMap(({ words }) => words),
    kept: since.length,
    cosigners: cosignerSentences(times),
  });
};

export const verifyReport = (text: string, options: BodyOptions): Verdict => {
  const report = parsed(text);
  if (!isObject(report) || !Array.isArray(report.events) || !report.events.every(isObject))
    return verdictBy([fault('this is not a report')], 0, NOTHING);
  const { events, checkpoint } = report;
  if (checkpoint === null) return verdictBy([doubt('none of its events were signed when it was made')], 0, NOTHING);
  const note = isObject(checkpoint) ? checkpoint.note : null;
  const signed = typeof note === 'string' ? readCheckpoint(note) : null;
  if (signed === null) return verdictBy([fault('its checkpoint is malformed')], 0, NOTHING);
  return judgeReport(events, signed, options);
};
