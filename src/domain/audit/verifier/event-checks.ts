import { canonicalJson } from '../../../lib/transparency/transparency.ts';
import { CATEGORIES } from '../../streams.ts';
import { type Leaf, parseLeaf } from '../leaf.ts';
import { createFingerprints } from './fingerprints.ts';

/** What the leaves of an export must be among themselves: events whose ids are unique and whose streams have no gaps. */

/** An event of a leaf; null: the leaf is none. */
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
  /** @returns what is wrong with this event behind those before. */
  next(event: Leaf, leaf: number): readonly string[];
  /** The expected ids that did not come. */
  missing(): readonly string[];
}

/** `msg_…` of `message-msg_…`: the id that people know a stream by. */
const subjectOf = (stream: string): string => stream.slice(stream.indexOf('-') + 1);

/** Streams that all organizations share: each one's log has only its own events of them. */
const SHARED = `${CATEGORIES.destination}-`;

const gapOf = (stream: string, from: number, to: number): string =>
  from === to
    ? `revision ${from} of ${stream} is not in the log`
    : `revisions ${from} to ${to} of ${stream} are not in the log`;

/**
 * @param isWhole whether the log's first leaf is in the export; otherwise streams begin with any revision.
 * @param expected ids of events, or of what streams are about.
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
