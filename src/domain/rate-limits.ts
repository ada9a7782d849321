import { z } from 'zod';

/** Kinds of action that are limited apart from one another (spec §8). */
export const ACTION_KINDS = ['send', 'read', 'manage'] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

const perMinute = z.number().int().min(1).max(10_000_000);

/** Requests a minute by kind of action; a kind that is absent has the default. */
export const rateLimitsSchema = z.strictObject({
  send: perMinute.optional(),
  read: perMinute.optional(),
  manage: perMinute.optional(),
});
export type RateLimits = z.infer<typeof rateLimitsSchema>;

/** Spec §8. */
export const DEFAULT_RATE_LIMITS: Readonly<Record<ActionKind, number>> = { send: 100, read: 1000, manage: 100 };

/** A key's own limits, or the defaults, and never more than its organization may have. */
export const effectiveLimits = (
  own: RateLimits,
  ceilings: RateLimits | null,
): { readonly [Kind in ActionKind]: number } => {
  const lower = (kind: ActionKind): number =>
    Math.min(own[kind] ?? DEFAULT_RATE_LIMITS[kind], ceilings?.[kind] ?? Number.POSITIVE_INFINITY);
  return { send: lower('send'), read: lower('read'), manage: lower('manage') };
};

export interface RateLimitResult {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the bucket is full again, rounded up. */
  readonly resetSeconds: number;
  /** Seconds until `cost` would be allowed, rounded up; 0 when allowed. */
  readonly retryAfterSeconds: number;
}

/**
 * PORT: counting actions. Adapters: `adapters/rate-limit/{in-memory,postgres,redis}`. Never hangs: while a store does not
 * answer, each process counts by itself.
 */
export interface RateLimiter {
  /** Takes `cost` from the bucket of `limitPerMinute`, all or nothing. */
  take(bucket: string, cost: number, limitPerMinute: number): Promise<RateLimitResult>;
  close(): Promise<void>;
}
