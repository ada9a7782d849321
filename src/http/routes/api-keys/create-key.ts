import { z } from 'zod';
import { createKey } from '../../../commands/api-key/create-key.ts';
import { permissionSchema } from '../../../domain/api-key/permissions.ts';
import { environmentSchema } from '../../../domain/environment.ts';
import { isId } from '../../../domain/ids.ts';
import { ACTION_KINDS, type RateLimits, rateLimitsSchema } from '../../../domain/rate-limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { parseRange } from '../../door/address-ranges.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { createdKeyShape, showApiKey } from '../../shapes/api-key-shape.ts';
import { detailsOf } from '../../validation/details.ts';
import { timeParameter } from '../../validation/query.ts';
import { line } from '../../validation/text.ts';
import type { Problem } from '../../validation/wording.ts';

const NAME_CHARACTERS_MAX = 200;
/** Compared one after another with the address of every request. */
const RANGES_MAX = 100;

const body = z.strictObject({
  name: line(NAME_CHARACTERS_MAX),
  domain_id: z.string(),
  permissions: z
    .array(permissionSchema)
    .min(1)
    .transform((permissions) => [...new Set(permissions)]),
  environment: environmentSchema.optional(),
  rate_limits: rateLimitsSchema.default({}),
  allowed_cidrs: z
    .array(z.string().refine((text) => parseRange(text) !== null, 'must be an address or a network in CIDR notation'))
    .max(RANGES_MAX)
    .default([]),
  expires_at: timeParameter().nullable().default(null),
});

const ceilingProblems = (asked: RateLimits, ceilings: RateLimits | null): readonly Problem[] =>
  ACTION_KINDS.flatMap((kind): readonly Problem[] => {
    const ceiling = ceilings?.[kind];
    return ceiling !== undefined && (asked[kind] ?? 0) > ceiling
      ? [['rate_limits', `rate_limits.${kind} must be at most ${ceiling}, your organization's ceiling`]]
      : [];
  });

const timeProblems = (expiresAt: string | null, now: string): readonly Problem[] =>
  expiresAt !== null && expiresAt <= now ? [['expires_at', 'expires_at must be in the future']] : [];

export const createKeyRoute = (house: House): void => {
  const { context } = house.deps;
  const { directory } = house.door;
  defineEndpoint(
    house,
    'POST /v1/api-keys',
    { summary: 'Create an API key; its value is shown this once', body, answer: createdKeyShape },
    async ({ caller, origin, body: asked, reply }) => {
      const now = context.system.now().toISOString();
      const problems = [
        ...ceilingProblems(asked.rate_limits, directory.ceilingsOf(caller.organizationId)),
        ...timeProblems(asked.expires_at, now),
      ];
      if (problems.length > 0) {
        throw new Refusal('invalid_request', 'the request is invalid: see details', { details: detailsOf(problems) });
      }
      if (!isId('dom', asked.domain_id)) throw new Refusal('not_found', 'domain not found');
      const { key, value, revision } = await createKey(context, origin, {
        by: caller,
        name: asked.name,
        domainId: asked.domain_id,
        permissions: asked.permissions,
        environment: asked.environment ?? caller.environment,
        rateLimits: asked.rate_limits,
        allowedCidrs: asked.allowed_cidrs,
        expiresAt: asked.expires_at,
      });
      setRevision(reply, revision);
      reply.header('location', `/v1/api-keys/${key.keyId}`);
      return { ...showApiKey(key, [], now), key: value };
    },
  );
};
