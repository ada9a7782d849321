import type { Range } from '../../lib/transparency/transparency.ts';
import type { Leaf } from '../audit/leaf.ts';

/** PORT: reads of the audit trees. Adapter: `projections/audit/tree`. A tree is named by its organization's id. */

/** A tile of a level. */
export interface Tile {
  readonly level: number;
  readonly tile: number;
}

export interface FoundLeaf {
  readonly index: number;
  readonly leaf: string;
  readonly parsed: Leaf;
}

/** What was asked for is not in the tree: it is smaller, or rows are missing. */
export class NotInTree extends Error {
  override readonly name = 'NotInTree';
}

export interface AuditTrees {
  /** Leaves of a tree; 0: there is none. */
  size(tree: string): Promise<number>;
  /** The hashes of ranges of leaves (`MTH` of RFC 9162 §2.1.1). @throws {NotInTree} */
  hashes(tree: string, ranges: readonly Range[]): Promise<readonly Buffer[]>;
  /** The root of the first `size` leaves. @throws {NotInTree} */
  root(tree: string, size: number): Promise<Buffer>;
  /** The hashes of a tile, one after another; of the last one of a level those that there are. */
  tile(tree: string, tile: Tile): Promise<Buffer>;
  /** The leaves of bundles from one up to and without another; of the last one those that there are. */
  leaves(tree: string, from: number, to: number): Promise<readonly string[]>;
  /** Events by their ids, UUIDs; those that are not in the tree (yet) are missing. */
  findAll(tree: string, eventIds: readonly string[]): Promise<ReadonlyMap<string, FoundLeaf>>;
  /** The event that makes a customer event, by the id of that (`evt_…`); null: it is not in the tree (yet). */
  findCustomerEvent(tree: string, id: string): Promise<FoundLeaf | null>;
}
