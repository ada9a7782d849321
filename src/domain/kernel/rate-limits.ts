import { z } from 'zod';

/** Kinds of action with separate limits (spec §8). */
export const ACTION_KINDS = ['send', 'read', 'manage'] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

const perMinute = z.number().int().min(1).max(10_000_000);

/** Requests a minute by kind of action. Absent kinds use the default. */
export const rateLimitsSchema = z.strictObject({
  send: perMinute.optional(),
  read: perMinute.optional(),
  manage: perMinute.optional(),
});
export type RateLimits = z.infer<typeof rateLimitsSchema>;

/** Defaults from spec §8. */
export const DEFAULT_RATE_LIMITS: Readonly<Record<ActionKind, number>> = { send: 100, read: 1000, manage: 100 };

/** A key's own limits or the defaults, capped at the organization's ceilings. */
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
  /** Seconds until `cost` would be allowed, rounded up; 0 if allowed. */
  readonly retryAfterSeconds: number;
}

/**
 * PORT: counts actions. Adapters: `adapters/rate-limit`. Never hangs: while a store does not
 * respond, each process counts alone.
 */
export interface RateLimiter {
  /** Takes `cost` from the bucket of `limitPerMinute`, all or nothing. */
  take(bucket: string, cost: number, limitPerMinute: number): Promise<RateLimitResult>;
  close(): Promise<void>;
}
