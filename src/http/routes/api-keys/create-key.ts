import { z } from 'zod';
import { createKey } from '../../../commands/api-key/create-key.ts';
import type { KeyBounds } from '../../../domain/api-key/key-authority.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { environmentSchema } from '../../../domain/environment.ts';
import { isId } from '../../../domain/ids.ts';
import { rateLimitsSchema } from '../../../domain/rate-limits.ts';
import { setRevision } from '../../consistency.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { createdKeySchema, serializeApiKey } from '../../schemas/api-key.ts';
import type { Problem } from '../../validation/problems.ts';
import { keyFields, keyProblems } from './key-fields.ts';

const body = z.strictObject({
  name: keyFields.name,
  domain_id: z.string().describe('The domain that the key is bound to: it sends from its addresses alone.'),
  permissions: keyFields.permissions,
  environment: environmentSchema
    .optional()
    .describe('That of the key that asks when absent; a live key can make test keys.'),
  rate_limits: rateLimitsSchema
    .optional()
    .describe(
      'Requests a minute by kind, up to your organization’s ceilings; only `admin` may set them. A kind that is left out has the default, or the limit of a `manage` key that asks where that is lower.',
    ),
  allowed_cidrs: keyFields.allowed_cidrs
    .optional()
    .describe(
      'Addresses and networks (`192.0.2.0/24`) that the key may be used from; empty: any. When absent, and at most, those of the key that asks.',
    ),
  expires_at: keyFields.expires_at
    .optional()
    .describe(
      'When the key ends, in ISO 8601; null: never. When absent, and at the latest, when the key that asks ends.',
    ),
});

/** The domain id stands for one of the reader's own. */
const EXAMPLES = {
  'For one use': { name: 'Shop', domain_id: 'dom_aaaaaaaaaaaaaaaaaaaaaaaaaa', permissions: ['send'] },
  'Limited in every way': {
    name: 'Report of the month',
    domain_id: 'dom_aaaaaaaaaaaaaaaaaaaaaaaaaa',
    permissions: ['send', 'read'],
    environment: 'test',
    rate_limits: { send: 10, read: 100 },
    allowed_cidrs: ['192.0.2.0/24', '2001:db8::/32'],
    expires_at: '2099-12-31T23:59:59Z',
  },
} satisfies Readonly<Record<string, z.input<typeof body>>>;

/** Bounds given in the request; the command has defaults for the others. */
const boundsIn = ({ rate_limits, allowed_cidrs, expires_at }: z.output<typeof body>): Partial<KeyBounds> => ({
  ...(rate_limits === undefined ? {} : { rateLimits: rate_limits }),
  ...(allowed_cidrs === undefined ? {} : { allowedCidrs: allowed_cidrs }),
  ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
});

const domainSent = z.object({ domain_id: z.string() });

export const createKeyRoute = (route: RouteContext): void => {
  const { context } = route.deps;
  const { keyCache } = route.auth;
  const now = (): string => context.system.now().toISOString();

  /** Reported beside other problems only; alone it is 404 or 403. */
  const domainProblems = async (sent: unknown, organizationId: string): Promise<readonly Problem[]> => {
    const { data } = domainSent.safeParse(sent);
    if (data === undefined) return [];
    const { domains } = await keyCache.load();
    const domain = domains.get(data.domain_id)?.domain;
    const isOwn = domain?.status === 'registered' && domain.organizationId === organizationId;
    return isOwn ? [] : [['domain_id', 'domain_id is not the id of a domain of your organization']];
  };

  defineEndpoint(
    route,
    'POST /v1/api-keys',
    {
      summary: 'Create an API key; its value is shown this once',
      description: 'A key reaches no further than the one that makes it: from no other addresses, and for no longer.',
      body,
      examples: EXAMPLES,
      answer: createdKeySchema,
      problems: async (sent, { organizationId }) => {
        const problems = keyProblems(sent, { ceilings: keyCache.ceilingsOf(organizationId), now: now() });
        const isWrong = problems.length > 0 || !body.safeParse(sent).success;
        return isWrong ? [...problems, ...(await domainProblems(sent, organizationId))] : problems;
      },
    },
    async ({ caller, origin, body: asked, reply }) => {
      if (!isId('dom', asked.domain_id)) throw new DomainError('not_found', 'domain not found');
      const { key, value, revision } = await createKey(context, origin, {
        by: caller,
        name: asked.name,
        domainId: asked.domain_id,
        permissions: asked.permissions,
        environment: asked.environment ?? caller.environment,
        ...boundsIn(asked),
      });
      setRevision(reply, revision);
      reply.header('location', `/v1/api-keys/${key.keyId}`);
      return { ...serializeApiKey(key, { now: now(), marks: [], endedWithDomain: false }), key: value };
    },
  );
};
