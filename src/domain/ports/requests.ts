import type { Range, SaltedPart } from '../../lib/transparency/transparency.ts';
import type { Leaf, TreeState } from '../audit/leaf.ts';
import type { Environment } from '../kernel/environment.ts';
import type { ErrorCode } from '../kernel/errors.ts';

/**
 * PORT: refused requests, for developers who ask why. Stored for `REFUSED_REQUEST_DAYS`, outside any log and without
 * sensitive values: see `http/refused-requests`. Adapter: `adapters/refused-requests.ts`.
 */
export interface RefusedRequest {
  /** `req_…`, as in `X-Request-Id`. */
  readonly id: string;
  readonly organizationId: string;
  readonly environment: Environment;
  /** Domain of the key; null if the principal is not a key. */
  readonly domainId: string | null;
  /** Id of the key, member or auditor that sent the request. */
  readonly principalId: string;
  readonly at: Date;
  readonly method: string;
  /** Documented route, such as `/v1/messages/:id`; null for an unknown endpoint. */
  readonly route: string | null;
  /** Requested path. Segments that may be more than an id or a word are masked. */
  readonly path: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly problems: readonly RefusedField[];
  /** Null if there was no body, it was not JSON, or it was left out. */
  readonly body: RefusedBody | null;
  readonly clientAddress: string;
  readonly userAgent: string | null;
  readonly durationMs: number;
  /** Number of requests that this one stands for: same principal, route and code, within a minute. */
  readonly count: number;
}

/** A sentence of an error's details, and the place of its field in the body. */
export interface RefusedField {
  readonly field: string;
  readonly sentence: string;
  /** JSON Pointer (RFC 6901); null if it is not a member of the body. */
  readonly pointer: string | null;
  /** Both one-based, in the body as sent; null if it is not there. */
  readonly line: number | null;
  readonly column: number | null;
  /** Offsets in the displayed text of the body; null if it is not displayed. */
  readonly start: number | null;
  readonly end: number | null;
}

export interface RefusedBody {
  readonly text: string;
  /** True if the body was sent on one line and is displayed on several. */
  readonly formatted: boolean;
  /** True if the text was cut. */
  readonly cut: boolean;
}

/** Higher: keeps requests that are no longer debugged. Lower: loses those that are investigated after a weekend. */
export const REFUSED_REQUEST_DAYS = 7;

/** A refused request as stored. */
export interface RecordedRefusal extends RefusedRequest {
  /** Digests of the addresses whose domains the body shows, by which erasures find it. */
  readonly addressDigests: readonly string[];
}

/** Selects requests. An absent or null field matches any. */
export interface RefusedRequestFilter {
  readonly organizationId: string;
  readonly environment: Environment;
  /** Matches keys of this domain only. */
  readonly domainId: string | null;
  readonly principalId?: string | undefined;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  readonly route?: string | undefined;
  /** ISO 8601; inclusive `since`, exclusive `until`. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

interface RefusedRequestQuery extends RefusedRequestFilter {
  readonly limit: number;
  /** Last request of the previous page; null to start from the newest. */
  readonly after: { readonly createdAt: string; readonly id: string } | null;
}

/** Numbers of requests, the most frequent first. */
export interface RefusedRequestCounts {
  readonly total: number;
  readonly byCode: readonly { readonly code: ErrorCode; readonly status: number; readonly count: number }[];
  readonly byPrincipal: readonly { readonly principalId: string; readonly count: number }[];
}

export interface RefusedRequests {
  /**
   * Stores requests. For one that is already stored, only the count increases.
   * @throws if the database is unavailable.
   */
  record(requests: readonly RecordedRefusal[]): Promise<void>;
  /** Newest first, at most `limit`. */
  list(query: RefusedRequestQuery): Promise<readonly RefusedRequest[]>;
  /** Returns null if it does not exist, or belongs to another organization or environment. */
  find(
    filter: Pick<RefusedRequestFilter, 'organizationId' | 'environment' | 'domainId'>,
    id: string,
  ): Promise<RefusedRequest | null>;
  /** Counts the newest `REFUSED_REQUESTS_COUNTED_MAX` rows. */
  counts(filter: RefusedRequestFilter): Promise<RefusedRequestCounts>;
}

/** Higher: slower than a screen can wait for. Lower: shows less of a flood. */
export const REFUSED_REQUESTS_COUNTED_MAX = 50_000;

/**
 * PORT: address and user agent of requests that manage something, stored separately from the events. Events refer to an
 * origin by its id (`originId`). It is removed after `ORIGIN_DAYS`. Adapter:
 * `adapters/request-origins.ts`.
 */
export interface RequestOrigin {
  /** UUID. */
  readonly id: string;
  readonly organizationId: string;
  readonly address: string;
  /** Null if the client sent none. */
  readonly userAgent: string | null;
  readonly at: Date;
  /** Salt of its only part, base64url. */
  readonly salt: string;
}

/** The only part of an origin. */
export const originPart = ({
  address,
  userAgent,
  salt,
}: Pick<RequestOrigin, 'address' | 'userAgent' | 'salt'>): SaltedPart => ({
  name: 'client',
  value: { address, userAgent },
  salt,
});

/** Higher: keeps personal data longer than needed. Lower: loses data that a yearly audit needs. */
export const ORIGIN_DAYS = 365;

export interface RequestOrigins {
  /** Durable when it resolves. @throws {DomainError} `unavailable`. */
  put(origin: RequestOrigin): Promise<void>;
  /** Addresses of an organization's origins, by origin id. Removed origins are absent. */
  addressesOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** User agents of an organization's origins, by origin id. Removed origins, and those without one, are absent. */
  userAgentsOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The part of an organization's origin; null if it has been removed. */
  partOf(organizationId: string, id: string): Promise<SaltedPart | null>;
  close(): Promise<void>;
}

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

export interface StoredState extends TreeState {
  /** True if an earlier version made the trees, which are being rebuilt. Their state is not sealed. */
  readonly isOutdated: boolean;
}

export interface AuditTrees {
  /** Number of leaves in a tree; 0 if there is no tree. */
  size(tree: string): Promise<number>;
  /** The hashes of ranges of leaves (`MTH` of RFC 9162 §2.1.1). @throws {NotInTree} */
  hashes(tree: string, ranges: readonly Range[]): Promise<readonly Buffer[]>;
  /** The root of the first `size` leaves. @throws {NotInTree} */
  root(tree: string, size: number): Promise<Buffer>;
  /** State of a tree that the projection sealed, to compare the tables with; null: there is no tree. */
  state(tree: string): Promise<StoredState | null>;
  /** The concatenated hashes of a tile; for the last one of a level, those that exist. */
  tile(tree: string, tile: Tile): Promise<Buffer>;
  /** The leaves of bundles from `from` to `to`, exclusive; for the last one, those that exist. */
  leaves(tree: string, from: number, to: number): Promise<readonly string[]>;
  /** Events by their ids (UUIDs). Those that are not in the tree (yet) are missing. */
  findAll(tree: string, eventIds: readonly string[]): Promise<ReadonlyMap<string, FoundLeaf>>;
  /** The event that produces a customer event, by the latter's id (`evt_…`); null if it is not in the tree (yet). */
  findCustomerEvent(tree: string, id: string): Promise<FoundLeaf | null>;
}

/** PORT: outbound requests to witnesses of checkpoints. Adapter: `adapters/witnesses.ts`. */
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
