import type { SaltedPart } from '../../lib/transparency/transparency.ts';

/**
 * PORT: who was at the other end of a request that managed something: address and user agent, beside the events and not
 * in them. Events name an origin by its id (`originId`); it is gone after `ORIGIN_DAYS`. Adapters:
 * `adapters/request-origins/{in-memory,postgres}`.
 */
export interface RequestOrigin {
  /** UUID. */
  readonly id: string;
  readonly organizationId: string;
  readonly address: string;
  /** null: the client sent none. */
  readonly userAgent: string | null;
  readonly at: Date;
  /** Of its only part, base64url. */
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

/** Longer keeps personal data that nobody asks for any more; shorter loses what a yearly audit looks at. */
export const ORIGIN_DAYS = 365;

export interface RequestOrigins {
  /** Resolves once it is stored. @throws {DomainError} `unavailable`. */
  put(origin: RequestOrigin): Promise<void>;
  /** Addresses by id of the origin, of those of an organization that are kept. */
  addressesOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The part of an origin of an organization; null: it is no longer kept. */
  partOf(organizationId: string, id: string): Promise<SaltedPart | null>;
  close(): Promise<void>;
}
