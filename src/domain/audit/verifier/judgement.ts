import type { Checkpoint } from '../../../lib/transparency/transparency.ts';
import { cosignersOf, type EarlierCheckpoint, isQuorum, readCheckpoint, type SignedCheckpoint } from './checkpoints.ts';
import type { Finding } from './disclosure.ts';
import type { Parts } from './export-body.ts';

/** Derives the verdict from the recomputed tree, the checkpoint at the end and checkpoints from elsewhere. */

export interface Verdict {
  /** `consistent`: nothing contradicts it, but it was not compared with a kept checkpoint or a witness. */
  readonly verdict: 'verified' | 'not verified' | 'undecided' | 'consistent';
  readonly origin: string;
  /** Size of the tree at the checkpoint. */
  readonly size: number;
  /** Recomputed root, in base64. */
  readonly root: string;
  readonly faults: readonly string[];
  readonly doubts: readonly string[];
  /** Information for the reader, whatever the verdict. */
  readonly notices: readonly string[];
  /** Disclosed content that is bound to leaves of the export. */
  readonly disclosed: readonly string[];
  /** Number of checkpoints of trusted keys that were compared, in leaves and from elsewhere. */
  readonly checkpoints: number;
  /** Number of checkpoints that the caller kept. */
  readonly kept: number;
  /** Witnesses that have cosigned the checkpoint, with their times. */
  readonly cosigners: readonly string[];
}

interface Earlier {
  readonly each: EarlierCheckpoint;
  /** Root recomputed at its size; undefined if the export does not cover it. */
  readonly root: Buffer | undefined;
}

interface Evidence {
  readonly findings: readonly Finding[];
  /** Number of findings beyond these. */
  readonly more: number;
  /** Null if there is no export. */
  readonly parts: Parts | null;
  /** The checkpoint text at the end; null if the file is cut off. */
  readonly checkpoint: string | null;
  readonly earlier: readonly Earlier[];
}

export const fault = (sentence: string): Finding => ({ kind: 'fault', sentence });
export const doubt = (sentence: string): Finding => ({ kind: 'doubt', sentence });

const sizeFindings = ({ header, tree }: Parts, { checkpoint }: SignedCheckpoint): readonly Finding[] => {
  const found: Finding[] = [];
  if (checkpoint.origin !== header.origin || checkpoint.size !== header.size) {
    found.push(
      fault(`the header does not match the checkpoint, which covers ${checkpoint.size} leaves of ${checkpoint.origin}`),
    );
  }
  if (tree.size < header.size) found.push(fault(`leaves ${tree.size} to ${header.size - 1} are missing at the end`));
  if (tree.size > header.size) found.push(fault(`there are leaves after leaf ${header.size - 1}, the last signed one`));
  return found;
};

/** Narrows down a change in which leaves and hashes agree, to the range between two checkpoints in leaves. */
const narrowed = ({ inner }: Parts, size: number): Finding => {
  const to = Math.min(inner.contradictedFrom, size);
  const from = inner.verifiedUpTo < to ? inner.verifiedUpTo : 0;
  return fault(
    `the leaves do not match the signed root: the log was changed at or after leaf ${from} and before leaf ${to}`,
  );
};

const isDifference = ({ kind }: Finding): boolean => kind === 'difference';

/** Compares the signed root with both trees. If the recomputed leaves have it, the hashes are wrong, not the leaves. */
const rootFindings = (
  parts: Parts,
  { checkpoint }: SignedCheckpoint,
  before: readonly Finding[],
): readonly Finding[] => {
  const { tree, inner } = parts;
  const { root, size } = checkpoint;
  if (tree.rootAt(size)?.equals(root) === true) {
    const isContradicted = inner.contradictedFrom <= size;
    return isContradicted
      ? [
          ...before,
          fault(`a checkpoint in the log has a different root for the first ${inner.contradictedFrom} leaves`),
        ]
      : before;
  }
  if (tree.recomputedRoot()?.equals(root) !== true) return [...before, narrowed(parts, size)];
  const firsts = before.flatMap((finding) => (finding.kind === 'difference' ? [finding.leaf] : []));
  const blamed = [...new Set(firsts)].map((leaf) =>
    fault(`the hashes after leaf ${leaf} were altered, but not the leaves`),
  );
  return [...before.filter((finding) => !isDifference(finding)), ...blamed];
};

const signatureFindings = ({ keys, header }: Parts, { note }: SignedCheckpoint): readonly Finding[] => {
  const signed = keys.check(note, header.size);
  if (signed === 'trusted') return [];
  if (signed === 'forged') return [fault('the signature of the checkpoint is forged')];
  if (keys.trusted.length > 0)
    return [fault('the checkpoint is not signed by the given key or by a key that followed it')];
  return [doubt('no key was given, so the signature proves nothing: pass --key')];
};

const quorumFindings = ({ quorum, inner }: Parts, cosigners: ReadonlyMap<string, number>): readonly Finding[] => {
  if (isQuorum(quorum, new Set(cosigners.keys()))) return [];
  const upTo = inner.quorumUpTo > 0 ? `; a quorum cosigned the first ${inner.quorumUpTo} leaves` : '';
  return [
    doubt(`no quorum of witnesses: cosigned by ${[...cosigners.keys()].join(', ') || 'no known witness'}${upTo}`),
  ];
};

const contradiction = (name: string, size: number): string =>
  `the log was rewritten: the earlier checkpoint has a different root for the first ${size} leaves than this export. ` +
  `Keep ${name} and the export: together they prove it`;

const quoted = (text: string): string => JSON.stringify(text);

const compareEarlier = ({ header, inner }: Parts, name: string, said: Checkpoint, root: Buffer | undefined) => {
  const { origin, size } = said;
  const reopened = inner.reopenings.find(({ previousOrigin }) => previousOrigin === origin);
  if (root?.equals(said.root) === true) return [];
  if (root === undefined && size <= header.size)
    return [doubt(`${name} covers ${size} leaves, which end before this export begins`)];
  const what = `the earlier checkpoint ${name} covers ${size} leaves`;
  if (reopened !== undefined) {
    return [
      fault(
        `${what} of ${origin}, but this log does not contain all of them: it was ` +
          `reopened at leaf ${reopened.leaf}: ${quoted(reopened.reason)}. Keep both`,
      ),
    ];
  }
  if (root !== undefined) return [fault(contradiction(name, size))];
  return [fault(`${what}, but this export ends after ${header.size}. Keep both`)];
};

const earlierFindings = (parts: Parts, { each, root }: Earlier): readonly Finding[] => {
  const { header, keys, inner } = parts;
  const { name, signed } = each;
  if (signed === null) return [fault(`${name} is not a signed checkpoint: the file is damaged, or never was one`)];
  const { origin, size } = signed.checkpoint;
  const isFormer = inner.reopenings.some(({ previousOrigin }) => previousOrigin === origin);
  if (origin !== header.origin && !isFormer) return [doubt(`${name} belongs to another log, ${origin}`)];
  // A key that was retired when the log was reopened has also signed leaves that the log lost.
  const signature = keys.check(signed.note, isFormer ? 0 : size);
  if (signature !== 'trusted') return [doubt(`${name} is not signed by a key of this log`)];
  return compareEarlier(parts, name, signed.checkpoint, root);
};

const noticesOf = ({ inner }: Parts): readonly string[] =>
  inner.reopenings.map(
    ({ leaf, previousOrigin, kept, reason }) =>
      `the log was reopened at leaf ${leaf}: ${quoted(reason)}. From ${quoted(previousOrigin)} ` +
      `it kept the first ${kept} signed leaves`,
  );

/** Replaces characters that a terminal would interpret as commands or does not show. */
const printable = (text: string): string =>
  text.replaceAll(/[^\x20-\x7e\xa0-\u{10ffff}]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?');

type Facts = Omit<Verdict, 'verdict' | 'faults' | 'doubts'>;

const verdictOf = (faults: number, doubts: number, { kept, cosigners }: Facts): Verdict['verdict'] => {
  if (faults > 0) return 'not verified';
  if (doubts > 0) return 'undecided';
  return kept + cosigners.length > 0 ? 'verified' : 'consistent';
};

export const NOTHING: Facts = {
  notices: [],
  disclosed: [],
  origin: '',
  size: 0,
  root: '',
  checkpoints: 0,
  kept: 0,
  cosigners: [],
};

const sentencesOf = (findings: readonly Finding[], isDoubt: boolean): readonly string[] => [
  ...new Set(findings.filter(({ kind }) => (kind === 'doubt') === isDoubt).map(({ sentence }) => sentence)),
];

/** Forms the verdict. @param more number of findings beyond these. */
export const verdictBy = (findings: readonly Finding[], more: number, facts: Facts): Verdict => {
  const faults = sentencesOf(findings, false);
  const doubts = sentencesOf(findings, true).map(printable);
  const all = (more > 0 ? [...faults, `and ${more} more`] : faults).map(printable);
  const said = { notices: facts.notices.map(printable), disclosed: facts.disclosed.map(printable) };
  const verdict = verdictOf(all.length, doubts.length, facts);
  return { ...facts, ...said, origin: printable(facts.origin), verdict, faults: all, doubts };
};

/** Describes each cosigner. @param times cosignature times in seconds since 1970, by witness. */
export const cosignerSentences = (times: ReadonlyMap<string, number>): readonly string[] =>
  [...times].map(([name, seconds]) => `${name} at ${new Date(seconds * 1000).toISOString()}`);

const judgeSigned = (parts: Parts, signed: SignedCheckpoint, { findings, earlier }: Evidence) => {
  const { times, forged } = cosignersOf(signed.note, parts.quorum.policy.witnesses);
  const own = [...sizeFindings(parts, signed), ...signatureFindings(parts, signed)];
  const all = [...rootFindings(parts, signed, findings), ...own];
  if (all.length === 0) parts.keys.cover(signed.checkpoint.size);
  const others = [
    ...forged.map((name) => fault(`the cosignature of ${name} is forged`)),
    ...quorumFindings(parts, times),
    ...earlier.flatMap((each) => earlierFindings(parts, each)),
  ];
  return {
    findings: [...all, ...others],
    cosigners: cosignerSentences(times),
  };
};

export const judge = (evidence: Evidence): Verdict => {
  const { parts, checkpoint, findings, more, earlier } = evidence;
  if (parts === null) return verdictBy(findings, more, NOTHING);
  const { header, tree, inner, events, disclosures } = parts;
  const signed = checkpoint === null ? null : readCheckpoint(checkpoint);
  const facts = {
    origin: header.origin,
    size: header.size,
    root: tree.rootAt(tree.size)?.toString('base64') ?? '',
    notices: noticesOf(parts),
    disclosed: disclosures.sentences,
    checkpoints: inner.count + earlier.length,
    kept: earlier.length,
  };
  const missing = [...events.missing().map(fault), ...disclosures.end()];
  if (signed === null) {
    const malformed = checkpoint === null ? [] : [fault('the checkpoint at the end is malformed')];
    return verdictBy([...findings, ...malformed, ...missing], more, { ...facts, cosigners: [] });
  }
  const judged = judgeSigned(parts, signed, evidence);
  return verdictBy([...judged.findings, ...missing], more, { ...facts, cosigners: judged.cosigners });
};
