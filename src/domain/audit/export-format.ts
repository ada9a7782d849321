import { canonicalJson, HASH_BYTES } from '../../lib/transparency/transparency.ts';

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
export type ExportLine =
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
