import { type CompactRange, canonicalJson, HASH_BYTES, joined } from '../../lib/transparency/transparency.ts';
import { withoutMac } from '../kernel/event-macs.ts';
import type { EventMetadata, RecordedEvent, Seals } from '../kernel/event-store.ts';
import { isId } from '../kernel/ids.ts';
import { messageStream } from '../kernel/streams.ts';

/** Leaves of the audit trees: stored events, each as one line of canonical JSON (RFC 8785); and the sealed state of a tree. */

/** Tree of events that belong to no organization: those of destinations. */
const SERVICE_TREE = 'service';

/** The tree that contains an event: its organization's. */
export const treeOf = ({ metadata }: Pick<RecordedEvent, 'metadata'>): string =>
  metadata.organizationId === '' ? SERVICE_TREE : metadata.organizationId;

/**
 * Hash input of an event. It contains no position, so that every engine and every copy of a log has the same leaves.
 */
export const leafOf = ({ stream, revision, stored }: RecordedEvent): string =>
  `{"data":${stored.data},"id":"${stored.id}","metadata":${withoutMac(stored.metadata)},"revision":${revision},` +
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

/** Id of the message that an event concerns, follows from, or records a read of; otherwise null. */
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

/**
 * The lines of an export (docs/audit.md). Each is canonical JSON and has exactly one form: a reader serializes it again
 * and compares. The first member identifies the line: `audit_export` the header, `data` a leaf, `hashes` the hashes of
 * the leaves before it, `checkpoint` the end.
 */

const VERSION = 1;

/** Leaves between two lines of hashes, equal to the hashes of a tile (C2SP tlog-tiles). */
export const BUNDLE_LEAVES = 256;

export interface ExportHeader {
  readonly origin: string;
  /** The first leaf in the export. Earlier leaves are represented only by the edge. */
  readonly from: number;
  /** Number of leaves in the tree whose checkpoint ends the export. */
  readonly size: number;
  /** Hashes of the complete subtrees of the leaves before `from`, left to right. */
  readonly edge: readonly Buffer[];
}

export const exportHeader = ({ origin, from, size, edge }: ExportHeader): string =>
  canonicalJson({ audit_export: VERSION, edge: edge.map((hash) => hash.toString('base64')), from, origin, size });

/** The line after the leaves of a tile: their concatenated hashes and the number of the tile. */
export interface ExportHashes {
  readonly tile: number;
  readonly hashes: Buffer;
}

export const exportHashes = ({ tile, hashes }: ExportHashes): string =>
  canonicalJson({ hashes: hashes.toString('base64'), tile });

/** The last line up to its checksum, which covers all bytes of the file before it. */
export const exportEndBegin = (checkpoint: string): string => `{"checkpoint":${canonicalJson(checkpoint)}`;

/** The rest of the last line. @param sha256 hexadecimal */
export const exportEndRest = (sha256: string): string => `,"sha256":"${sha256}"}`;

/** A line of an export. `malformed`: not such a line, or not in its only valid form. */
type ExportLine =
  | { readonly kind: 'header'; readonly header: ExportHeader }
  | { readonly kind: 'leaf'; readonly leaf: string }
  | { readonly kind: 'hashes'; readonly hashes: ExportHashes }
  | { readonly kind: 'end'; readonly checkpoint: string; readonly sha256: string }
  | { readonly kind: 'malformed' };

type Members = Readonly<Record<string, unknown>>;

const bytesOf = (base64: unknown): Buffer => Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64');
const numberOf = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? Number(value) : 0;

const readHeader = ({ edge, from, origin, size }: Members): ExportLine => ({
  kind: 'header',
  header: {
    origin: String(origin),
    from: numberOf(from),
    size: numberOf(size),
    edge: Array.isArray(edge) ? edge.map(bytesOf) : [],
  },
});

const readHashes = ({ hashes, tile }: Members): ExportLine => ({
  kind: 'hashes',
  hashes: { hashes: bytesOf(hashes), tile: numberOf(tile) },
});

const readEnd = ({ checkpoint, sha256 }: Members): ExportLine => ({
  kind: 'end',
  checkpoint: String(checkpoint),
  sha256: String(sha256),
});

const written = (line: ExportLine): string => {
  if (line.kind === 'header') return exportHeader(line.header);
  if (line.kind === 'hashes') return exportHashes(line.hashes);
  return line.kind === 'end' ? `${exportEndBegin(line.checkpoint)}${exportEndRest(line.sha256)}` : '';
};

const isWhole = (line: ExportLine): boolean => {
  if (line.kind === 'header') return line.header.edge.every(({ length }) => length === HASH_BYTES);
  return line.kind !== 'hashes' || line.hashes.hashes.length % HASH_BYTES === 0;
};

const KINDS = [
  ['{"audit_export":', readHeader],
  ['{"hashes":', readHashes],
  ['{"checkpoint":', readEnd],
] as const;

const MALFORMED: ExportLine = { kind: 'malformed' };

const membersOf = (text: string): Members | null => {
  try {
    return JSON.parse(text) as Members; // an object, because it begins with a brace
  } catch {
    return null;
  }
};

/** Parses a line. @param text a line without its line feed. */
export const readExportLine = (text: string): ExportLine => {
  if (text.startsWith('{"data":')) return { kind: 'leaf', leaf: text };
  const read = KINDS.find(([beginning]) => text.startsWith(beginning))?.[1];
  const members = read === undefined ? null : membersOf(text);
  const line = members === null ? MALFORMED : (read?.(members) ?? MALFORMED);
  return written(line) === text && isWhole(line) ? line : MALFORMED;
};

/**
 * State of an audit tree as the projection computed it from the log. It is sealed under a key that is not in the database, so
 * that no row is signed that was changed in the database after the projection wrote it.
 */
export interface TreeState {
  readonly tree: string;
  readonly size: number;
  /** Hashes of the complete subtrees of its leaves, concatenated, in base64. null: an earlier version did not keep them. */
  readonly hashes: string | null;
  /** The first leaf that this service cannot prove to have written and that is not adopted. */
  readonly foreignLeaf: number | null;
  readonly foreignEvent: string | null;
  /** null: an earlier version did not seal it, or the log has no proofs. */
  readonly seal: string | null;
}

type Unsealed = Omit<TreeState, 'seal'>;

const sealedText = ({ tree, size, hashes, foreignLeaf, foreignEvent }: Unsealed): string =>
  JSON.stringify(['audit-tree', tree, size, hashes, foreignLeaf, foreignEvent]);

export const sealState = (state: Unsealed, seals: Seals): string => seals.make(sealedText(state));

/** True if the projection wrote this state. */
export const isSealed = (state: TreeState, seals: Seals): boolean =>
  state.seal !== null && seals.holds(sealedText(state), state.seal);

export const rangeOf = ({ size, hashes }: Pick<TreeState, 'size' | 'hashes'>): CompactRange => {
  const all = Buffer.from(hashes ?? '', 'base64');
  const count = Math.floor(all.length / HASH_BYTES);
  return {
    size,
    hashes: Array.from({ length: count }, (_, at) => all.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)),
  };
};

export const hashesOf = ({ hashes }: CompactRange): string => Buffer.concat(hashes).toString('base64');

export const rootOf = (state: Pick<TreeState, 'size' | 'hashes'>): Buffer => joined(rangeOf(state).hashes);
