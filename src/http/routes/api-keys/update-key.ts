import { z } from 'zod';
import { updateKey } from '../../../commands/api-key/change-key.ts';
import { isWithin, parseRange } from '../../../domain/address-ranges.ts';
import type { KeyChanges } from '../../../domain/api-key/update-key.ts';
import { rateLimitsSchema } from '../../../domain/rate-limits.ts';
import { setRevision } from '../../consistency.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { apiKeySchema } from '../../schemas/api-key.ts';
import { keyFields, keyProblems } from './key-fields.ts';
import { changeOwnKey, serializeKey } from './own-key.ts';

const { send, read, manage } = rateLimitsSchema.shape;

const body = z
  .strictObject({
    name: keyFields.name.optional(),
    permissions: keyFields.permissions.optional(),
    rate_limits: z
      .strictObject({ send: send.nullable(), read: read.nullable(), manage: manage.nullable() })
      .optional()
      .describe('Each given kind is replaced; null restores the default.'),
    allowed_cidrs: keyFields.allowed_cidrs.optional().describe('Replaces the list; empty: any address.'),
    expires_at: keyFields.expires_at.optional().describe('A time in the future; null: never.'),
  })
  .refine((asked) => Object.values(asked).some((value) => value !== undefined), 'must name at least one field');

const EXAMPLES = {
  'Another name': { name: 'Shop, second floor' },
  'Less than before': { permissions: ['read'], allowed_cidrs: ['192.0.2.0/24'], expires_at: '2099-12-31T23:59:59Z' },
  'Another limit': { rate_limits: { send: 50, read: null } },
} satisfies Readonly<Record<string, z.input<typeof body>>>;

const changesOf = ({
  name,
  permissions,
  rate_limits,
  allowed_cidrs,
  expires_at,
}: z.output<typeof body>): KeyChanges => ({
  ...(name === undefined ? {} : { name }),
  ...(permissions === undefined ? {} : { permissions }),
  ...(rate_limits === undefined ? {} : { rateLimits: rate_limits }),
  ...(allowed_cidrs === undefined ? {} : { allowedCidrs: allowed_cidrs }),
  ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
});

const leavesOut = (cidrs: readonly string[] | undefined, address: string): boolean =>
  cidrs !== undefined &&
  cidrs.length > 0 &&
  !isWithin(
    cidrs.map(parseRange).filter((range) => range !== null),
    address,
  );

export const updateKeyRoute = (route: RouteContext): void => {
  const { context } = route.deps;
  const { keyCache } = route.auth;
  defineEndpoint(
    route,
    'PATCH /v1/api-keys/:id',
    {
      summary: 'Change an API key',
      description:
        'Omitted fields stay unchanged. Only `admin` sets `rate_limits` and changes keys with `admin`. A key ' +
        'cannot get more networks or a later expiry than the requesting key.',
      body,
      examples: EXAMPLES,
      answer: apiKeySchema,
      problems: (sent, { organizationId }) =>
        keyProblems(sent, {
          ceilings: keyCache.ceilingsOf(organizationId),
          now: context.system.now().toISOString(),
        }),
    },
    async (call) => {
      const changes = changesOf(call.body);
      const leavesOutRequester = leavesOut(changes.allowedCidrs, call.request.ip);
      const { key, revision } = await changeOwnKey(route, call, 'update', (change) =>
        updateKey(context, call.origin, { ...change, changes, leavesOutRequester }),
      );
      setRevision(call.reply, revision);
      return serializeKey(route, key);
    },
  );
};
