import { z } from 'zod';
import { rangeProblem } from '../../../domain/address-ranges.ts';
import { permissionSchema } from '../../../domain/api-key/events.ts';
import { ACTION_KINDS, type RateLimits } from '../../../domain/rate-limits.ts';
import { atMost, line, timeParameter } from '../../validation/fields.ts';
import type { Problem } from '../../validation/problems.ts';

const NAME_CHARACTERS_MAX = 200;
/** There are four; duplicates are ignored. */
const PERMISSIONS_MAX = 20;
/** Each is compared with the address of every request. */
const RANGES_MAX = 100;
/** The longest range: `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128`. */
const RANGE_CHARACTERS_MAX = 49;

/** Fields of creating and of updating a key. */
export const keyFields = {
  name: line(NAME_CHARACTERS_MAX).describe('What the key is for, for people.'),
  permissions: atMost(PERMISSIONS_MAX, z.array(permissionSchema).min(1))
    .transform((permissions) => [...new Set(permissions)])
    .describe('What the key may do. Only `admin` includes others.'),
  allowed_cidrs: atMost(
    RANGES_MAX,
    z
      .array(
        z
          .string()
          .max(RANGE_CHARACTERS_MAX)
          .superRefine((text, context) => {
            const problem = rangeProblem(text);
            if (problem !== null) context.addIssue({ code: 'custom', message: problem });
          }),
      )
      .max(RANGES_MAX),
  ).describe('Addresses and networks (`192.0.2.0/24`) that may use the key; empty: any.'),
  expires_at: timeParameter().nullable().describe('ISO 8601; null: never.'),
};

const limitsSent = z.object({ rate_limits: z.record(z.string(), z.unknown()) });

const ceilingProblems = (sent: unknown, ceilings: RateLimits | null): readonly Problem[] => {
  const { data } = limitsSent.safeParse(sent);
  return ACTION_KINDS.flatMap((kind): readonly Problem[] => {
    const asked = data?.rate_limits[kind];
    const ceiling = ceilings?.[kind];
    return ceiling !== undefined && typeof asked === 'number' && asked > ceiling
      ? [['rate_limits', `rate_limits.${kind} must be at most ${ceiling}, your organization's ceiling`]]
      : [];
  });
};

const expirySent = z.object({ expires_at: timeParameter() });

const expiryProblems = (sent: unknown, now: string): readonly Problem[] => {
  const { data } = expirySent.safeParse(sent);
  return data !== undefined && data.expires_at <= now ? [['expires_at', 'expires_at must be in the future']] : [];
};

/** Problems in a raw body that the schema cannot find. @param now ISO 8601. */
export const keyProblems = (
  sent: unknown,
  { ceilings, now }: { readonly ceilings: RateLimits | null; readonly now: string },
): readonly Problem[] => [...ceilingProblems(sent, ceilings), ...expiryProblems(sent, now)];
