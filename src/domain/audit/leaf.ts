import { canonicalJson } from '../../lib/transparency/transparency.ts';
import { isId } from '../ids.ts';
import type { EventMetadata, RecordedEvent } from '../ports/event-store.ts';
import { messageStream } from '../streams.ts';

/** Leaves of the audit trees: events as they are stored, on a line of canonical JSON each (RFC 8785). */

/** The tree of events that belong to no organization: of destinations. */
const SERVICE_TREE = 'service';

/** The tree that an event is in: its organization's. */
export const treeOf = ({ metadata }: Pick<RecordedEvent, 'metadata'>): string =>
  metadata.organizationId === '' ? SERVICE_TREE : metadata.organizationId;

/** What an event is hashed as. It names no position, so that every engine and copy of a log has the same leaves. */
export const leafOf = ({ stream, revision, stored }: RecordedEvent): string =>
  `{"data":${stored.data},"id":"${stored.id}","metadata":${stored.metadata},"revision":${revision},` +
  `"stream":${canonicalJson(stream)},"type":"${stored.type}"}`;

/** A leaf as it is read again. */
export interface Leaf {
  readonly data: Readonly<Record<string, unknown>>;
  readonly id: string;
  readonly metadata: EventMetadata;
  readonly revision: number;
  readonly stream: string;
  readonly type: string;
}

export const parseLeaf = (leaf: string): Leaf => JSON.parse(leaf) as Leaf; // as `leafOf` wrote it

/** `recipient:<id>` is nobody who can be asked for: all recipients are one. */
const actorOf = (actor: string): string => (actor.startsWith('recipient:') ? 'recipient' : actor);

const KEY_ACTOR = 'key:';

interface AboutMessage {
  readonly messageId?: unknown;
  readonly source?: { readonly messageId?: unknown } | null;
  readonly subjectId?: unknown;
}

/** The message that an event is about, follows from, or is the reading of; null: none. */
export const messageOf = ({ data }: Pick<Leaf, 'data'>): string | null => {
  const { messageId, source, subjectId }: AboutMessage = data;
  const found = [messageId, source?.messageId, subjectId].find((id) => typeof id === 'string' && isId('msg', id));
  return (found as string | undefined) ?? null; // as it was looked for
};

/** By what the leaves about a message are found that are not in its stream. Those of the stream are found by their positions. */
export const messageFacet = (messageId: string): string => `message:${messageId}`;

/** By what leaves are searched: `type:`, `actor:`, `key:` (who acted, or what was acted on), `domain:` and `message:`. */
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
