import type { SaltedPart } from '../../lib/transparency/transparency.ts';

/**
 * PORT: address and user agent of requests that manage something, stored separately from the events. Events refer to an
 * origin by its id (`originId`). It is removed after `ORIGIN_DAYS`. Adapters:
 * `adapters/request-origins/{in-memory,postgres}`.
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
  /** The part of an organization's origin; null if it has been removed. */
  partOf(organizationId: string, id: string): Promise<SaltedPart | null>;
  close(): Promise<void>;
}
