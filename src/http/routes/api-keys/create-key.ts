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
  domain_id: z.string().describe('The domain that the key is bound to. It sends only from addresses of this domain.'),
  permissions: keyFields.permissions,
  environment: environmentSchema
    .optional()
    .describe('Default: the environment of the requesting key. A live key can create test keys.'),
  rate_limits: rateLimitsSchema
    .optional()
    .describe(
      'Requests per minute by kind, up to the organization’s ceilings; only `admin` may set them. An omitted ' +
        'kind has the default, or the limit of the requesting `manage` key if that is lower.',
    ),
  allowed_cidrs: keyFields.allowed_cidrs
    .optional()
    .describe(
      'Addresses and networks (`192.0.2.0/24`) that may use the key; empty: any. Default and maximum: those ' +
        'of the requesting key.',
    ),
  expires_at: keyFields.expires_at
    .optional()
    .describe('ISO 8601; null: never. Default and latest: the expiry of the requesting key.'),
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
      summary: 'Create an API key; its value is shown only once',
      description: 'A new key has at most the networks and the lifetime of the key that creates it.',
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
