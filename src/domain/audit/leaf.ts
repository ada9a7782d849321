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
