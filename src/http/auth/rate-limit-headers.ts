import type { FastifyReply } from 'fastify';
import type { ActionKind, RateLimitResult } from '../../domain/rate-limits.ts';

/** Seconds of the window that limits are given for. */
const WINDOW_SECONDS = 60;

/** Both generations: draft-ietf-httpapi-ratelimit-headers-11, and the three fields clients know from before it. */
export const setRateLimitHeaders = (
  reply: FastifyReply,
  kind: ActionKind,
  { limit, remaining, resetSeconds }: RateLimitResult,
): void => {
  reply
    .header('ratelimit-policy', `"${kind}";q=${limit};w=${WINDOW_SECONDS}`)
    .header('ratelimit', `"${kind}";r=${remaining};t=${resetSeconds}`)
    .header('ratelimit-limit', limit)
    .header('ratelimit-remaining', remaining)
    .header('ratelimit-reset', resetSeconds);
};
