import type { Range } from '../../lib/transparency/transparency.ts';
import type { Leaf } from '../audit/leaf.ts';

/** PORT: reads the audit trees. Adapter: `projections/audit/tree`. A tree is named by its organization's id. */

/** Position of a tile within a level. */
export interface Tile {
  readonly level: number;
  readonly tile: number;
}

export interface FoundLeaf {
  readonly index: number;
  readonly leaf: string;
  readonly parsed: Leaf;
}

/** The requested part is not in the tree: the tree is smaller, or rows are missing. */
export class NotInTree extends Error {
  override readonly name = 'NotInTree';
}

export interface AuditTrees {
  /** Number of leaves in a tree; 0 if there is no tree. */
  size(tree: string): Promise<number>;
  /** The hashes of ranges of leaves (`MTH` of RFC 9162 §2.1.1). @throws {NotInTree} */
  hashes(tree: string, ranges: readonly Range[]): Promise<readonly Buffer[]>;
  /** The root of the first `size` leaves. @throws {NotInTree} */
  root(tree: string, size: number): Promise<Buffer>;
  /** The concatenated hashes of a tile; for the last one of a level, those that exist. */
  tile(tree: string, tile: Tile): Promise<Buffer>;
  /** The leaves of bundles from `from` to `to`, exclusive; for the last one, those that exist. */
  leaves(tree: string, from: number, to: number): Promise<readonly string[]>;
  /** Events by their ids (UUIDs). Those that are not in the tree (yet) are missing. */
  findAll(tree: string, eventIds: readonly string[]): Promise<ReadonlyMap<string, FoundLeaf>>;
  /** The event that produces a customer event, by the latter's id (`evt_…`); null if it is not in the tree (yet). */
  findCustomerEvent(tree: string, id: string): Promise<FoundLeaf | null>;
}

/** PORT: outbound requests to witnesses of checkpoints. Adapter: `adapters/witnesses/http`. */
export interface Witnesses {
  /** Sends one POST of plain text: no redirects, bounded in time and in bytes read. @throws {WitnessUnreachable} */
  post(url: string, body: string, signal: AbortSignal): Promise<WitnessAnswer>;
  close(): Promise<void>;
}

export interface WitnessAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** There was no complete response in time. */
export class WitnessUnreachable extends Error {
  override readonly name = 'WitnessUnreachable';
}
