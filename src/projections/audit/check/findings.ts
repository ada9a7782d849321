import type { Leaf } from '../../../domain/audit/leaf.ts';

/**
 * Findings of a check: one for each change of the database, whatever else contradicts it then. A changed event makes every
 * later root differ, so what follows from it in the same tree is not reported beside it.
 */

/** An event as it is named to people. */
export type NamedEvent = Pick<Leaf, 'id' | 'type' | 'stream' | 'revision'>;

/** A change of an event: the log and the audit tree do not have the same one at a leaf. */
interface EventFinding {
  readonly tree: string;
  readonly leaf: number;
  /** The event in the log, or the one in the tree if the log lacks it. */
  readonly event: NamedEvent;
}

/** Why a check is not content. Sentences are for people. */
export type Finding =
  /** The log and the tree have different values. */
  | (EventFinding & {
      readonly kind: 'changed';
      /** Each value in the tree and in the log. */
      readonly values: readonly ChangedValue[];
      /** The text in the tree does not fit its own hash. */
      readonly isTextChanged: boolean;
      /** The event in the log has a valid proof; null: events of this log carry none. */
      readonly isAuthentic: boolean | null;
    })
  /** The tree has an event that the log does not have. */
  | (EventFinding & { readonly kind: 'missing' })
  /** The log has an event that the tree does not have. */
  | (EventFinding & { readonly kind: 'inserted' })
  /** The tree has another event in its place. */
  | (EventFinding & { readonly kind: 'replaced'; readonly inTree: NamedEvent })
  /** This service did not write it, and it is not adopted. */
  | (EventFinding & { readonly kind: 'foreign' })
  /** Differs also if an event of the tree was changed. */
  | { readonly kind: 'follows'; readonly tree: string; readonly ofTable: boolean; readonly sentence: string }
  /** A table that is made from the log differs from it. */
  | { readonly kind: 'table'; readonly sentence: string }
  /** Names the stream whose columns differ. */
  | { readonly kind: 'columns'; readonly stream: string; readonly sentence: string }
  | { readonly kind: 'other'; readonly sentence: string };

interface ChangedValue {
  readonly name: string;
  /** JSON; undefined: there was none. */
  readonly was: string | undefined;
  readonly is: string | undefined;
}

/** Longer values are cut: a finding is read by people. */
const VALUE_CHARACTERS_MAX = 200;

const shortened = (json: string | undefined): string => {
  if (json === undefined) return 'absent';
  return json.length <= VALUE_CHARACTERS_MAX ? json : `${json.slice(0, VALUE_CHARACTERS_MAX)}…`;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Values that differ, the members of objects each by name. */
export const changedValues = (was: unknown, is: unknown, name: string): readonly ChangedValue[] => {
  if (JSON.stringify(was) === JSON.stringify(is)) return [];
  if (!isObject(was) || !isObject(is)) return [{ name, was: JSON.stringify(was), is: JSON.stringify(is) }];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((member) =>
    changedValues(was[member], is[member], name === '' ? member : `${name}.${member}`),
  );
};

const nameOf = ({ leaf, tree, event: { id, type, stream, revision } }: EventFinding): string =>
  `event ${id} (${type}, ${stream} revision ${revision}, leaf ${leaf} of ${tree})`;

const valuesOf = (values: readonly ChangedValue[]): string =>
  values.map(({ name, was, is }) => `${name} was ${shortened(was)} and is ${shortened(is)}`).join('; ');

/** The same differences, seen from the log, which is right. */
const valuesInTree = (values: readonly ChangedValue[]): string =>
  values.map(({ name, was, is }) => `${name} was ${shortened(is)} and is ${shortened(was)}`).join('; ');

const OUTSIDE = 'The database was changed from outside the service, which never changes or removes an event';

const changedSentence = (finding: Extract<Finding, { kind: 'changed' }>, isForeign: boolean): string => {
  const { values, isTextChanged, isAuthentic } = finding;
  if (isTextChanged || isAuthentic === true)
    return `the copy of ${nameOf(finding)} in the audit tree was changed: ${valuesInTree(values)}. The log is right. The tables read_models.audit_* were changed from outside the service`;
  if (isForeign || isAuthentic === false)
    return `${nameOf(finding)} was changed in the log: ${valuesOf(values)}. The audit tree is right${isForeign ? '' : ', unless it was changed too: compare both with a backup'}. ${OUTSIDE}`;
  return `the log and the audit tree have different values for ${nameOf(finding)}: the tree has ${values.map(({ name, was }) => `${name} ${shortened(was)}`).join(', ')}, the log ${values.map(({ name, is }) => `${name} ${shortened(is)}`).join(', ')}. Compare both with a backup. ${OUTSIDE}`;
};

const MORE = 'Later leaves of this tree were not compared: repair this first';

const sentenceOf = (finding: Finding, foreign: ReadonlySet<string>): string => {
  switch (finding.kind) {
    case 'changed':
      return changedSentence(finding, foreign.has(finding.event.id));
    case 'missing':
      return `${nameOf(finding)} was removed from the log. The audit tree still has it. ${OUTSIDE}. ${MORE}`;
    case 'inserted':
      return `${nameOf(finding)} is in the log, but not in the audit tree: it was inserted into the log after the tree read it, or removed from the tree. ${OUTSIDE}. ${MORE}`;
    case 'replaced':
      return `${nameOf(finding)} is in the log where the audit tree has event ${finding.inTree.id} (${finding.inTree.type}, ${finding.inTree.stream} revision ${finding.inTree.revision}). ${OUTSIDE}`;
    case 'foreign':
      return `this service did not write ${nameOf(finding)}: it was inserted or changed in the database`;
    default:
      return finding.sentence;
  }
};

type AboutEvent = Extract<Finding, EventFinding>;

const isAboutEvent = (finding: Finding): finding is AboutEvent => 'event' in finding;

/** Changes of the log itself, from which other differences follow. */
const CHANGES: ReadonlySet<Finding['kind']> = new Set(['changed', 'missing', 'inserted', 'replaced']);

export interface Report {
  readonly sentences: readonly string[];
  /** True if events of the log were changed, and not only tables that are made from it. */
  readonly isLogChanged: boolean;
}

/** One sentence for each change. */
export const reportOf = (findings: readonly Finding[]): Report => {
  const changed = findings.filter(isAboutEvent).filter(({ kind }) => CHANGES.has(kind));
  const trees = new Set(changed.map(({ tree }) => tree));
  const streams = new Set(changed.map(({ event }) => event.stream));
  const ids = new Set(changed.map(({ event }) => event.id));
  const foreign = new Set(findings.flatMap((finding) => (finding.kind === 'foreign' ? [finding.event.id] : [])));
  const isReported = (finding: Finding): boolean => {
    if (finding.kind === 'follows') return !trees.has(finding.tree);
    if (finding.kind === 'columns') return !streams.has(finding.stream);
    return finding.kind !== 'foreign' || !ids.has(finding.event.id);
  };
  const reported = findings.filter(isReported);
  const isOfTable = (finding: Finding): boolean =>
    finding.kind === 'table' ||
    (finding.kind === 'follows' && finding.ofTable) ||
    (finding.kind === 'changed' && (finding.isTextChanged || finding.isAuthentic === true));
  return {
    sentences: reported.map((finding) => sentenceOf(finding, foreign)),
    isLogChanged: reported.some((finding) => !isOfTable(finding)),
  };
};
