import { canonicalJson } from '../../../lib/transparency/transparency.ts';
import { CATEGORIES } from '../../kernel/streams.ts';
import { type Leaf, parseLeaf } from '../leaf.ts';
import { createFingerprints } from './fingerprints.ts';

/** Consistency checks on the events of an export: ids are unique, and streams have no gaps. */

/** Parses the event of a leaf; null if the leaf is not an event. */
export const eventOf = (text: string): Leaf | null => {
  try {
    const { data, id, metadata, revision, stream, type } = parseLeaf(text);
    const isEvent = [id, stream, type].every((each) => typeof each === 'string') && Number.isSafeInteger(revision);
    const leaf = { data, id, metadata, revision, stream, type };
    return isEvent && canonicalJson(leaf) === text ? leaf : null;
  } catch {
    return null;
  }
};

export const wordsOf = (event: Leaf | null): string => {
  if (event === null) return 'what is no event in canonical JSON';
  const { id, type, stream, revision, metadata } = event;
  return `event ${id} (${type}, ${stream} revision ${revision}, ${metadata?.occurredAt})`;
};

export interface EventChecks {
  /** Checks an event against those before it. @returns the problems found in it. */
  next(event: Leaf, leaf: number): readonly string[];
  /** Expected ids that were not found. */
  missing(): readonly string[];
}

/** The id by which people know a stream: `msg_…` of `message-msg_…`. */
const subjectOf = (stream: string): string => stream.slice(stream.indexOf('-') + 1);

/** Prefix of streams that all organizations share. Each organization's log contains only its own events of them. */
const SHARED = `${CATEGORIES.destination}-`;

const gapOf = (stream: string, from: number, to: number): string =>
  from === to
    ? `revision ${from} of ${stream} is not in the log`
    : `revisions ${from} to ${to} of ${stream} are not in the log`;

/**
 * @param isWhole whether the export starts with the log's first leaf; otherwise streams may start at any revision.
 * @param expected ids of events or of the subjects of streams.
 */
export const createEventChecks = (isWhole: boolean, expected: Iterable<string>): EventChecks => {
  const ids = createFingerprints();
  const revisions = createFingerprints();
  const awaited = new Set(expected);

  const checkId = ({ id }: Leaf, leaf: number): readonly string[] => {
    const before = ids.get(id);
    if (before !== null) return [`event ${id} stands at leaf ${before}, and a second time at leaf ${leaf}`];
    ids.set(id, leaf);
    return [];
  };

  const checkRevision = ({ stream, revision }: Leaf, leaf: number): readonly string[] => {
    const next = (revisions.get(stream) ?? (isWhole ? 0 : revision) - 1) + 1;
    if (revision < next) return [`leaf ${leaf}: revision ${revision} of ${stream} stands behind revision ${next - 1}`];
    revisions.set(stream, revision);
    return revision > next && !stream.startsWith(SHARED) ? [gapOf(stream, next, revision - 1)] : [];
  };

  return {
    next: (event, leaf) => {
      awaited.delete(event.id);
      awaited.delete(subjectOf(event.stream));
      const repeated = checkId(event, leaf);
      return repeated.length > 0 ? repeated : checkRevision(event, leaf);
    },
    missing: () => [...awaited].map((id) => `${id} was expected, and is not in the log`),
  };
};
