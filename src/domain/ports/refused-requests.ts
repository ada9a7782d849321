import type { Environment } from '../environment.ts';
import type { ErrorCode } from '../error-catalogue.ts';

/**
 * PORT: requests that were refused, for the developer who asks why. Kept for `REFUSED_REQUEST_DAYS`, in no log, and
 * without what they said: see `http/refused-requests`. Adapter: `adapters/refused-requests/postgres`.
 */
export interface RefusedRequest {
  /** `req_…`, as in `X-Request-Id`. */
  readonly id: string;
  readonly organizationId: string;
  readonly environment: Environment;
  /** Of the key; null: it was no key. */
  readonly domainId: string | null;
  /** Id of the key, the member or the auditor that asked. */
  readonly principalId: string;
  readonly at: Date;
  readonly method: string;
  /** As documented, `/v1/messages/:id`; null: there is no such path. */
  readonly route: string | null;
  /** As asked for; what may be more than an id or a word is masked. */
  readonly path: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly problems: readonly RefusedField[];
  /** null: there was none, it was not JSON, or it was left out. */
  readonly body: RefusedBody | null;
  readonly clientAddress: string;
  readonly userAgent: string | null;
  readonly durationMs: number;
  /** Requests that this one stands for: alike in principal, route and code, within a minute. */
  readonly count: number;
}

/** A sentence of an error's details, and where in the sent body its field is. */
export interface RefusedField {
  readonly field: string;
  readonly sentence: string;
  /** RFC 6901; null: it is no member of the body. */
  readonly pointer: string | null;
  /** Both from 1, of the body as it was sent; null: it is not there. */
  readonly line: number | null;
  readonly column: number | null;
  /** Offsets in the shown text of the body; null: it is not shown. */
  readonly start: number | null;
  readonly end: number | null;
}

export interface RefusedBody {
  readonly text: string;
  /** It was sent in one line, and is shown in many. */
  readonly formatted: boolean;
  /** There is more. */
  readonly cut: boolean;
}

/** Longer keeps what nobody debugs any more, shorter loses what somebody looks at on Monday. */
export const REFUSED_REQUEST_DAYS = 7;

/** What is stored of a request. */
export interface RecordedRefusal extends RefusedRequest {
  /** Digests of the addresses whose domains the body shows: erasures find it by them. */
  readonly addressDigests: readonly string[];
}

/** Which requests; absent or null: any. */
export interface RefusedRequestFilter {
  readonly organizationId: string;
  readonly environment: Environment;
  /** Of keys of this domain only. */
  readonly domainId: string | null;
  readonly principalId?: string | undefined;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  readonly route?: string | undefined;
  /** ISO 8601; from, and before. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

interface RefusedRequestQuery extends RefusedRequestFilter {
  readonly limit: number;
  /** The last of the page before; null: from the newest. */
  readonly after: { readonly createdAt: string; readonly id: string } | null;
}

/** How many requests, the most frequent first. */
export interface RefusedRequestCounts {
  readonly total: number;
  readonly byCode: readonly { readonly code: ErrorCode; readonly status: number; readonly count: number }[];
  readonly byPrincipal: readonly { readonly principalId: string; readonly count: number }[];
}

export interface RefusedRequests {
  /** Stores requests; of one that is stored, only the count grows. @throws the database was away. */
  record(requests: readonly RecordedRefusal[]): Promise<void>;
  /** Newest first, at most `limit`. */
  list(query: RefusedRequestQuery): Promise<readonly RefusedRequest[]>;
  /** null: there is none, or it is another organization's or environment's. */
  find(
    filter: Pick<RefusedRequestFilter, 'organizationId' | 'environment' | 'domainId'>,
    id: string,
  ): Promise<RefusedRequest | null>;
  /** Of the newest `REFUSED_REQUESTS_COUNTED_MAX` rows. */
  counts(filter: RefusedRequestFilter): Promise<RefusedRequestCounts>;
}

/** More takes longer than a screen waits for; fewer tell less of a flood. */
export const REFUSED_REQUESTS_COUNTED_MAX = 50_000;
