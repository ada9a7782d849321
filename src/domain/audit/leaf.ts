import { canonicalJson } from '../../lib/transparency/transparency.ts';
import type { EventMetadata, RecordedEvent } from '../kernel/event-store.ts';
import { isId } from '../kernel/ids.ts';
import { messageStream } from '../kernel/streams.ts';

/** Leaves of the audit trees: stored events, each as one line of canonical JSON (RFC 8785). */

/** Tree of events that belong to no organization: those of destinations. */
const SERVICE_TREE = 'service';

/** The tree that contains an event: its organization's. */
export const treeOf = ({ metadata }: Pick<RecordedEvent, 'metadata'>): string =>
  metadata.organizationId === '' ? SERVICE_TREE : metadata.organizationId;

/**
 * Hash input of an event. It contains no position, so that every engine and every copy of a log has the same leaves.
 */
export const leafOf = ({ stream, revision, stored }: RecordedEvent): string =>
  `{"data":${stored.data},"id":"${stored.id}","metadata":${stored.metadata},"revision":${revision},` +
  `"stream":${canonicalJson(stream)},"type":"${stored.type}"}`;

/** A parsed leaf. */
export interface Leaf {
  readonly data: Readonly<Record<string, unknown>>;
  readonly id: string;
  readonly metadata: EventMetadata;
  readonly revision: number;
  readonly stream: string;
  readonly type: string;
}

export const parseLeaf = (leaf: string): Leaf => JSON.parse(leaf) as Leaf; // trusted: `leafOf` wrote it

/** Groups all recipients under one actor. A single `recipient:<id>` is not a search facet. */
const actorOf = (actor: string): string => (actor.startsWith('recipient:') ? 'recipient' : actor);

const KEY_ACTOR = 'key:';

interface AboutMessage {
  readonly messageId?: unknown;
  readonly source?: { readonly messageId?: unknown } | null;
  readonly subjectId?: unknown;
}

/** Id of the message that an event concerns, follows from, or records a read of; null if there is none. */
export const messageOf = ({ data }: Pick<Leaf, 'data'>): string | null => {
  const { messageId, source, subjectId }: AboutMessage = data;
  const found = [messageId, source?.messageId, subjectId].find((id) => typeof id === 'string' && isId('msg', id));
  return (found as string | undefined) ?? null; // `find` checked that it is a string
};

/** Search facet of leaves about a message outside its own stream. Leaves of the stream are found by their positions. */
export const messageFacet = (messageId: string): string => `message:${messageId}`;

/**
 * Search facets of a leaf: `type:`, `actor:`, `key:` (who acted, or the target of the action), `domain:` and
 * `message:`.
 */
export const facetsOf = ({
  type,
  data,
  metadata,
  stream,
}: Pick<Leaf, 'type' | 'data' | 'metadata' | 'stream'>): readonly string[] => {
  const actor = actorOf(metadata.actor);
  const facets = [`type:${type}`, `actor:${actor}`];
  if (actor.startsWith(KEY_ACTOR)) facets.push(actor);
  if (typeof data.keyId === 'string') facets.push(`key:${data.keyId}`);
  if (typeof data.domainId === 'string') facets.push(`domain:${data.domainId}`);
  const messageId = messageOf({ data });
  if (messageId !== null && stream !== messageStream(messageId)) facets.push(messageFacet(messageId));
  return facets;
};

const LEAF = /^leaf:(0|[1-9]\d{0,14})$/;

/** Parses `leaf:<n>`; null if the text is not of this form. */
export const leafIn = (text: string): number | null => {
  const leaf = LEAF.exec(text)?.[1];
  return leaf === undefined ? null : Number(leaf);
};

/**
 * The end of the part of a log that is read: a time (ISO 8601), or a leaf of an organization's tree, inclusive. With an
 * organization, only its events are read; with null, those of all.
 */
export type Moment =
  | { readonly organizationId: string | null; readonly time: string; readonly leaf?: never }
  | { readonly organizationId: string; readonly leaf: number; readonly time?: never };

/** Decides for each event, in log order, whether it existed at a moment. */
interface LogCut {
  holds(event: RecordedEvent): boolean;
  /** Whether all later events are excluded. */
  isOver(): boolean;
}

/**
 * A time cuts each organization's log separately, before its first event that is later. Everything after that event is
 * excluded too. The same time therefore always selects the same events, whatever the clocks of processes were, and as
 * many leaves of each audit tree as `?at=` sees. Organizations share no moment: if the clock of one ran ahead, its log
 * is cut earlier and the others are unaffected.
 */
export const cutAt = ({ organizationId, time, leaf = 0 }: Moment): LogCut => {
  /** Trees that have reached their cut. */
  const ended = new Set<string>();
  let leaves = 0;
  const ends = ({ metadata }: RecordedEvent): boolean =>
    time === undefined ? leaves > leaf : metadata.occurredAt > time;
  return {
    holds: (event) => {
      const tree = treeOf(event);
      if ((organizationId !== null && tree !== organizationId) || ended.has(tree)) return false;
      if (ends(event)) {
        ended.add(tree);
        return false;
      }
      leaves += 1;
      return true;
    },
    isOver: () => (organizationId !== null && ended.has(organizationId)) || (time === undefined && leaves > leaf),
  };
};
