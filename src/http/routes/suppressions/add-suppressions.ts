import { z } from 'zod';
import { addSuppressions, type RecordedSuppression } from '../../../commands/suppression/change-suppression.ts';
import { loadTopic } from '../../../commands/topic.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { SUPPRESSION_SCOPES } from '../../../domain/suppression/events.ts';
import { canonicalAddress, parseMailbox } from '../../../lib/mime/mime.ts';
import { bodyOf } from '../../bodies/json-bodies.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { addedSuppressionsSchema, serializeSuppressions, suppressionSchema } from '../../schemas/suppression.ts';
import { atMost, text, timeField } from '../../validation/fields.ts';
import type { Problem } from '../../validation/problems.ts';

/** A few sentences, or a server's reply. */
const NOTE_CHARACTERS_MAX = 2000;

/** An address without a display name, parsed. */
export const addressField = () =>
  z
    .string()
    .refine((written) => typeof parseMailbox(written) !== 'string', 'is not an email address')
    .transform((written) => {
      const parsed = parseMailbox(written);
      return typeof parsed === 'string' ? '' : parsed.address;
    });

/** Fields of a suppression besides its address. */
export const suppressionFields = {
  scope: z
    .enum(SUPPRESSION_SCOPES)
    .default('all')
    .describe('Mail to block: everything, messages of one `stream`, or messages of one topic.'),
  topic_id: z
    .string()
    .refine((id) => isId('top', id), 'is not the id of a topic')
    .optional()
    .describe('Id of the topic. Required with scope `topic`, not allowed otherwise.'),
  expires_at: timeField().nullable().default(null).describe('When it may be sent to again; null: never.'),
  note: text(NOTE_CHARACTERS_MAX).nullable().default(null).describe('Evidence for the suppression.'),
};

/** Each mailbox once; the first spelling is kept. */
export const distinct = (addresses: readonly string[]): readonly string[] =>
  [...new Map(addresses.toReversed().map((address) => [canonicalAddress(address), address])).values()].toReversed();

/** Each costs a read and an append. Larger lists are imported. */
const ADDRESSES_MAX = 1000;
/** Fits the maximum number of addresses at their maximum length. */
const BODY_BYTES_MAX = 500_000;
const DEADLINE_MS = 30_000;

const body = z.strictObject({
  address: addressField().optional().describe('One address; or several, in `addresses`.'),
  addresses: atMost(ADDRESSES_MAX, z.array(addressField()).min(1).max(ADDRESSES_MAX))
    .optional()
    .describe('Several addresses, suppressed for the same reason.'),
  ...suppressionFields,
});

const DESCRIPTION = `For one \`address\` the response is its suppression, for several \`addresses\` a result for each. An address that is
already on the list stays there, and its \`expires_at\` can be changed. Several addresses are not one transaction: after a
fault, repeat the request.`;

/** `topic_id` is required with scope `topic` and not allowed with others. */
export const topicProblem = (scope: unknown, topicId: unknown): string | null => {
  if (scope === 'topic' && topicId === undefined) return 'topic_id is required with the scope topic';
  return scope !== 'topic' && topicId !== undefined ? 'topic_id must not stand beside another scope' : null;
};

const given = z.object({
  address: z.unknown(),
  addresses: z.unknown(),
  scope: z.unknown(),
  topic_id: z.unknown(),
  expires_at: suppressionFields.expires_at,
});

/** Problems across fields. */
const problemsWith = (sent: unknown, now: string): readonly Problem[] => {
  const { data } = given.partial().safeParse(sent);
  if (data === undefined) return [];
  const { address, addresses, scope, topic_id: topicId, expires_at: expiresAt = null } = data;
  const topic = topicProblem(scope, topicId);
  return [
    ...(address === undefined && addresses === undefined ? [['address', 'address is required'] as const] : []),
    ...(address !== undefined && addresses !== undefined
      ? [['addresses', 'addresses must not stand beside address'] as const]
      : []),
    ...(topic === null ? [] : [['topic_id', topic] as const]),
    ...(expiresAt !== null && expiresAt <= now ? [['expires_at', 'expires_at must be in the future'] as const] : []),
  ];
};

const requireAll = (results: readonly (RecordedSuppression | DomainError)[]): readonly RecordedSuppression[] =>
  results.map((result) => {
    if (result instanceof DomainError) throw result;
    return result;
  });

export const addSuppressionsRoute = (route: RouteContext): void => {
  const { context } = route.deps;
  const ownTopic = async (topicId: string | undefined, organizationId: string) =>
    topicId === undefined ? {} : { topicId: (await loadTopic(context, organizationId, topicId)).topic.topicId };
  const now = (): string => context.system.now().toISOString();

  defineEndpoint(
    route,
    'POST /v1/suppressions',
    {
      summary: 'Suppress one or several addresses',
      description: DESCRIPTION,
      body,
      examples: {
        One: { address: 'ann@example.net', note: 'Asked for it by telephone' },
        'Several, for a while, of bulk mail': {
          addresses: ['ann@example.net', 'bob@example.org'],
          scope: 'bulk',
          expires_at: '2099-12-31T23:59:59Z',
        },
      },
      answer: z.union([suppressionSchema, addedSuppressionsSchema]),
      bounds: bodyOf(BODY_BYTES_MAX),
      deadlineMs: DEADLINE_MS,
      etag: false,
      problems: (sent) => problemsWith(sent, now()),
    },
    async ({ caller: { environment }, origin, body: asked, reply }) => {
      const { address, addresses = [], scope, topic_id: topicId, expires_at: expiresAt, note } = asked;
      const topic = await ownTopic(topicId, origin.organizationId);
      const wanted = distinct(address === undefined ? addresses : [address]);
      const about = { environment, reason: 'manual', scope, ...topic, expiresAt, text: note } as const;
      const results = requireAll(
        await addSuppressions(
          context,
          origin,
          wanted.map((one) => ({ ...about, address: one })),
        ),
      );
      const data = await serializeSuppressions(
        context.contents,
        results.map(({ suppression }) => suppression),
        now(),
      );
      const [only] = data;
      if (address !== undefined && only !== undefined) {
        reply.header('location', `/v1/suppressions/${only.id}`);
        return only;
      }
      reply.header('location', '/v1/suppressions');
      const added = results.filter((result) => result.added).length;
      return { object: 'suppressions_added', added, unchanged: results.length - added, data };
    },
  );
};
