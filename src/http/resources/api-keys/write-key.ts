import { z } from 'zod';
import { createKey, updateKey } from '../../../commands/api-key.ts';
import type { KeyChanges } from '../../../domain/api-key/api-key.ts';
import type { KeyBounds } from '../../../domain/api-key/caller.ts';
import { permissionSchema } from '../../../domain/api-key/events.ts';
import { isWithin, parseRange, rangeProblem } from '../../../domain/kernel/addresses.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { ACTION_KINDS, type RateLimits, rateLimitsSchema } from '../../../domain/kernel/rate-limits.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { atMost, definedIn, line, timeParameter } from '../../fields.ts';
import type { Problem } from '../../problems.ts';
import { setRevision } from '../../reading.ts';
import { apiKeySchema, changeOwnKey, createdKeySchema, serializeApiKey, serializeKey } from './api-keys.ts';

/** Creating and updating an API key: their fields, and problems that a schema cannot find. */

const NAME_CHARACTERS_MAX = 200;
/** There are four; duplicates are ignored. */
const PERMISSIONS_MAX = 20;
/** Each is compared with the address of every request. */
const RANGES_MAX = 100;
/** The longest range: `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128`. */
const RANGE_CHARACTERS_MAX = 49;

/** Fields of creating and of updating a key. */
const keyFields = {
  name: line(NAME_CHARACTERS_MAX).describe('Purpose of the key, for people.'),
  permissions: atMost(PERMISSIONS_MAX, z.array(permissionSchema).min(1))
    .transform((permissions) => [...new Set(permissions)])
    .describe('Permissions of the key. Only `admin` includes others.'),
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

/** Problems of an `expires_at` in a raw body. @param now ISO 8601. */
export const expiryProblems = (sent: unknown, now: string): readonly Problem[] => {
  const { data } = expirySent.safeParse(sent);
  return data !== undefined && data.expires_at <= now ? [['expires_at', 'expires_at must be in the future']] : [];
};

/** Problems in a raw body that the schema cannot find. @param now ISO 8601. */
const keyProblems = (
  sent: unknown,
  { ceilings, now }: { readonly ceilings: RateLimits | null; readonly now: string },
): readonly Problem[] => [...ceilingProblems(sent, ceilings), ...expiryProblems(sent, now)];

const createBody = z.strictObject({
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
const CREATE_EXAMPLES = {
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
} satisfies Readonly<Record<string, z.input<typeof createBody>>>;

/** Bounds given in the request; the command has defaults for the others. */
const boundsIn = ({ rate_limits, allowed_cidrs, expires_at }: z.output<typeof createBody>): Partial<KeyBounds> =>
  definedIn({ rateLimits: rate_limits, allowedCidrs: allowed_cidrs, expiresAt: expires_at });

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
      summary: 'Create an API key',
      description: 'A new key cannot have more networks or a later expiry than the key that creates it.',
      body: createBody,
      examples: CREATE_EXAMPLES,
      answer: createdKeySchema,
      problems: async (sent, { organizationId }) => {
        const problems = keyProblems(sent, { ceilings: keyCache.ceilingsOf(organizationId), now: now() });
        const isWrong = problems.length > 0 || !createBody.safeParse(sent).success;
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

const { send, read, manage } = rateLimitsSchema.shape;

const changeBody = z
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

const CHANGE_EXAMPLES = {
  'Another name': { name: 'Shop, second floor' },
  'Less than before': { permissions: ['read'], allowed_cidrs: ['192.0.2.0/24'], expires_at: '2099-12-31T23:59:59Z' },
  'Another limit': { rate_limits: { send: 50, read: null } },
} satisfies Readonly<Record<string, z.input<typeof changeBody>>>;

const changesOf = ({ rate_limits, allowed_cidrs, expires_at, ...same }: z.output<typeof changeBody>): KeyChanges =>
  definedIn({ ...same, rateLimits: rate_limits, allowedCidrs: allowed_cidrs, expiresAt: expires_at });

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
      summary: 'Update an API key',
      description:
        'Omitted fields stay unchanged. Only `admin` sets `rate_limits` and changes keys with `admin`. A key ' +
        'cannot get more networks or a later expiry than the requesting key.',
      body: changeBody,
      examples: CHANGE_EXAMPLES,
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
