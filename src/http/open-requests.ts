import type { FastifyReply } from 'fastify';
import { DomainError } from '../domain/kernel/errors.ts';
import { createShares } from '../lib/async/async.ts';

/**
 * Bounds the requests that one organization has open, streams and long polls too: each holds a connection, and without
 * a share slow requests of one organization would hold all of them.
 */

/** Above its event streams (`READERS_PER_ORGANIZATION_MAX`). Higher: others find no connection. Lower: a busy one is refused. */
const REQUESTS_PER_ORGANIZATION_MAX = 4_000;
const RETRY_AFTER_SECONDS = 5;

export interface OpenRequests {
  /**
   * Counts a request until its reply has ended.
   * @returns why it is refused: `rate_limit_exceeded`, the share is used up; `unavailable`, there are too many in all.
   */
  begin(organizationId: string, reply: Pick<FastifyReply, 'raw'>): DomainError | null;
}

const again = { retryAfterSeconds: RETRY_AFTER_SECONDS };
const REFUSALS = {
  organization: () =>
    new DomainError(
      'rate_limit_exceeded',
      'this organization has too many requests open: wait until some have ended',
      again,
    ),
  all: () => new DomainError('unavailable', 'too many requests are open: try again later', again),
};

/** @param max connections of the process. */
export const createOpenRequests = (max: number): OpenRequests => {
  const places = createShares({ max, shares: { organization: REQUESTS_PER_ORGANIZATION_MAX } });
  return {
    begin: (organizationId, { raw }) => {
      const place = places.take({ organization: organizationId });
      if ('full' in place) return REFUSALS[place.full]();
      // A client that goes shows by `close` alone, and a request by `inject` by `finish`.
      raw.once('finish', place.release).once('close', place.release);
      return null;
    },
  };
};
