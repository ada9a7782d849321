import { hash } from 'node:crypto';
import { HASH_BYTES } from '../../lib/transparency/transparency.ts';

/** Tiles and bundles of entries in the form of C2SP tlog-tiles. */

/** Hashes of a full tile, and leaves of a full bundle. */
export const TILE_WIDTH = 256;
/** Levels of a tree in one tile. */
export const TILE_HEIGHT = 8;

const LENGTH_BYTES = 2;

/** A UTF-16 code unit is at most three bytes of UTF-8. */
const UTF8_BYTES_MAX = 3;

/** A bundle: the bytes of each leaf behind their number as a big-endian uint16 (tlog-tiles, "Log entries"). */
export const encodeEntries = (leaves: readonly string[]): Buffer => {
  const room = leaves.reduce((sum, leaf) => sum + LENGTH_BYTES + UTF8_BYTES_MAX * leaf.length, 0);
  const bytes = Buffer.allocUnsafe(room);
  let at = 0;
  for (const leaf of leaves) {
    const size = bytes.write(leaf, at + LENGTH_BYTES);
    at = bytes.writeUInt16BE(size, at) + size;
  }
  return bytes.subarray(0, at);
};

/**
 * The leaf hashes of a full bundle, one after another. Hashed in place, in half the time: while a leaf is, the byte before it
 * is the 0x00 that the tree begins leaves with.
 */
export const hashEntries = (entries: Buffer): Buffer => {
  const hashes = Buffer.allocUnsafe(TILE_WIDTH * HASH_BYTES);
  let at = 0;
  for (let index = 0; index < TILE_WIDTH; index += 1) {
    const end = at + LENGTH_BYTES + entries.readUInt16BE(at);
    const low = entries[at + 1] as number;
    entries[at + 1] = 0;
    hashes.write(hash('sha256', entries.subarray(at + 1, end), 'binary'), index * HASH_BYTES, 'latin1');
    entries[at + 1] = low;
    at = end;
  }
  return hashes;
};

export const decodeEntries = (bytes: Buffer): readonly string[] => {
  const leaves: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + LENGTH_BYTES + bytes.readUInt16BE(at);
    leaves.push(bytes.toString('utf8', at + LENGTH_BYTES, end));
    at = end;
  }
  return leaves;
};

/** Which resource of a log a path names: hashes of a level, or a bundle of entries. */
export interface TileName {
  readonly level: number | 'entries';
  readonly tile: number;
  /** Hashes or entries in it; below 256 it is partial. */
  readonly width: number;
}

const PATH =
  /^tile\/(?<level>entries|0|[1-9]|[1-5]\d|6[0-3])\/(?<index>(?:x\d{3}\/){0,4}\d{3})(?:\.p\/(?<width>[1-9]\d{0,2}))?$/;

/** `tile/0/x001/234` and, of a partial one, `tile/0/x001/234.p/17` (tlog-tiles, "Merkle Tree"). */
export const tilePath = ({ level, tile, width }: TileName): string => {
  const digits = String(tile);
  const elements = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  const index = elements.map((element, at) => (at < elements.length - 1 ? `x${element}` : element)).join('/');
  return `tile/${level}/${index}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
};

/** @returns null: it is no path of a tile in its one form. */
export const parseTilePath = (path: string): TileName | null => {
  const { level = '', index = '', width = String(TILE_WIDTH) } = PATH.exec(path)?.groups ?? {};
  const name: TileName = {
    level: level === 'entries' ? level : Number(level),
    tile: Number(index.replaceAll(/[x/]/g, '')),
    width: Number(width),
  };
  return tilePath(name) === path ? name : null;
};
