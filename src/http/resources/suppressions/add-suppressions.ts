import { z } from 'zod';
import { addSuppressions, type RecordedSuppression } from '../../../commands/suppression.ts';
import { loadTopic } from '../../../commands/topic.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import type { Contents, SuppressionEvidence } from '../../../domain/ports/contents.ts';
import { SUPPRESSION_REASONS, SUPPRESSION_SCOPES, type SuppressionScope } from '../../../domain/suppression/events.ts';
import {
  type ExistingSuppression,
  isInForce,
  type SuppressionEntry,
  strongest,
  strongestEntry,
} from '../../../domain/suppression/suppression.ts';
import { canonicalAddress, parseMailbox } from '../../../lib/mime/mime.ts';
import { bodyOf } from '../../bodies.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { atMost, text, timeField, timeSchema } from '../../fields.ts';
import type { Problem } from '../../problems.ts';

const status = z.enum(['active', 'expired', 'removed']);
const reason = z.enum(SUPPRESSION_REASONS);
const scope = z.enum(SUPPRESSION_SCOPES);

/** A reason to suppress the address, in force or not. */
const entrySchema = z.strictObject({
  reason,
  scope,
  topic_id: z.string().nullable().describe('Topic, if the scope is `topic`. Otherwise null.'),
  status,
  evidence: z.string().nullable().describe('Reply of the mail server, or your note.'),
  message_id: z.string().nullable().describe('Message that caused the entry.'),
  recipient_id: z.string().nullable(),
  added_at: timeSchema(),
  expires_at: timeSchema().nullable(),
  removed_at: timeSchema().nullable(),
});

export const suppressionSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('suppression'),
    address: z.string().nullable().describe('null: the address was erased.'),
    environment: environmentSchema,
    status,
    scope: scope.describe('Mail that the active entries block together.'),
    reason: reason.describe('Reason of the entry that blocks the most. `expires_at` belongs to this entry.'),
    expires_at: timeSchema().nullable(),
    entries: z.array(entrySchema).describe('All entries, oldest first, including removed and expired ones.'),
    created_at: timeSchema(),
  })
  .meta({ id: 'Suppression' });
export type SerializedSuppression = z.infer<typeof suppressionSchema>;

/** Result of adding several addresses. */
export const addedSuppressionsSchema = z.strictObject({
  object: z.literal('suppressions_added'),
  added: z.number().int(),
  unchanged: z.number().int().describe('Number of addresses that were already on the list for this reason.'),
  data: z.array(suppressionSchema).describe('One entry per address, in the order of `addresses`, without duplicates.'),
});

export const suppressionCheckSchema = z.strictObject({
  object: z.literal('suppression_check'),
  address: z.string(),
  suppressed: z
    .strictObject({ transactional: z.boolean(), bulk: z.boolean() })
    .describe(
      'Whether mail without a topic is suppressed, for each stream. Topics are in `entries` of the suppression.',
    ),
  opted_in: z.array(z.string()).describe('Ids of the topics that the recipient has opted in to.'),
  suppression: suppressionSchema
    .nullable()
    .describe('The suppression. null: no suppression applies, or the key may not see it.'),
});

export const suppressionImportSchema = z.strictObject({
  object: z.literal('suppression_import'),
  imported: z.number().int(),
  unchanged: z.number().int().describe('Number of rows whose address was already on the list for this reason.'),
  refused: z.number().int(),
  problems: z
    .array(z.strictObject({ line: z.number().int(), message: z.string() }))
    .describe('One entry for each invalid row.'),
});

const statusOf = (entry: SuppressionEntry, now: string): z.infer<typeof status> => {
  if (entry.removedAt !== null) return 'removed';
  return isInForce(entry, now) ? 'active' : 'expired';
};

type LoadedEvidence = ReadonlyMap<string, SuppressionEvidence>;

const serializeEntry = (
  entry: SuppressionEntry,
  evidence: LoadedEvidence,
  now: string,
): z.infer<typeof entrySchema> => ({
  reason: entry.reason,
  scope: entry.scope,
  topic_id: entry.topicId ?? null,
  status: statusOf(entry, now),
  evidence: evidence.get(entry.contentId)?.text ?? null,
  message_id: entry.source?.messageId ?? null,
  recipient_id: entry.source?.recipientId ?? null,
  added_at: entry.addedAt,
  expires_at: entry.expiresAt,
  removed_at: entry.removedAt,
});

/** Each message class may be suppressed by another entry. */
const scopeOf = (state: ExistingSuppression, now: string, fallback: SuppressionScope): SuppressionScope => {
  const [transactional, bulk] = (['transactional', 'bulk'] as const).map(
    (stream) => strongestEntry(state, { stream, topicId: null }, now) !== null,
  );
  if (transactional === true && bulk === true) return 'all';
  if (transactional === true) return 'transactional';
  return bulk === true ? 'bulk' : fallback;
};

const show = (state: ExistingSuppression, evidence: LoadedEvidence, now: string): SerializedSuppression => {
  const inForce = strongest(state.entries.filter((entry) => isInForce(entry, now)));
  const main = inForce ?? state.entries.at(-1);
  if (main === undefined) throw new Error(`suppression ${state.suppressionId} has no entry`);
  const addresses = state.entries.map(({ contentId }) => evidence.get(contentId)?.address ?? null);
  return {
    id: state.suppressionId,
    object: 'suppression',
    address: addresses.findLast((address) => address !== null) ?? null,
    environment: state.environment,
    status: statusOf(main, now),
    scope: scopeOf(state, now, main.scope),
    reason: main.reason,
    expires_at: main.expiresAt,
    entries: state.entries.map((entry) => serializeEntry(entry, evidence, now)),
    created_at: state.createdAt,
  };
};

/** Loads addresses and evidence by content id. Missing ones have been erased. */
export const loadEvidence = async (
  contents: Pick<Contents, 'heads'>,
  of: readonly { readonly contentId: string }[],
): Promise<LoadedEvidence> => {
  const found = await contents.heads(of.map(({ contentId }) => contentId));
  return new Map([...found].flatMap(([id, body]) => (body.kind === 'suppression' ? [[id, body]] : [])));
};

/** Serializes suppressions with their personal data from the vault. @param now ISO 8601. */
export const serializeSuppressions = async (
  contents: Pick<Contents, 'heads'>,
  states: readonly ExistingSuppression[],
  now: string,
): Promise<readonly SerializedSuppression[]> => {
  const evidence = await loadEvidence(
    contents,
    states.flatMap(({ entries }) => entries),
  );
  return states.map((state) => show(state, evidence, now));
};

export const serializeSuppression = async (
  contents: Pick<Contents, 'heads'>,
  state: ExistingSuppression,
  now: string,
): Promise<SerializedSuppression> => show(state, await loadEvidence(contents, state.entries), now);

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
    .describe('Mail to block: all mail, mail of one `stream`, or mail about one topic.'),
  topic_id: z
    .string()
    .refine((id) => isId('top', id), 'is not the id of a topic')
    .optional()
    .describe('Id of the topic. Required with scope `topic`, otherwise not allowed.'),
  expires_at: timeField()
    .nullable()
    .default(null)
    .describe('Time from which mail may be sent to the address again. null: never.'),
  note: text(NOTE_CHARACTERS_MAX)
    .nullable()
    .default(null)
    .describe('Evidence for the suppression, such as how the person asked for it.'),
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
  address: addressField().optional().describe('One address. For several, use `addresses`.'),
  addresses: atMost(ADDRESSES_MAX, z.array(addressField()).min(1).max(ADDRESSES_MAX))
    .optional()
    .describe('Several addresses, suppressed for the same reason.'),
  ...suppressionFields,
});

const DESCRIPTION = `Blocks mail to one \`address\`, or to several \`addresses\`. The response is the suppression, or one result for each
address. An address that is already on the list stays there; \`expires_at\` can change its end. Several addresses are
recorded one by one: if the request fails, repeat it.`;

/** `topic_id` is required with scope `topic` and not allowed with others. */
export const topicProblem = (scope: unknown, topicId: unknown): string | null => {
  if (scope === 'topic' && topicId === undefined) return 'topic_id is required with scope topic';
  return scope !== 'topic' && topicId !== undefined ? 'topic_id is allowed only with scope topic' : null;
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
      ? [['addresses', 'send either addresses or address, not both'] as const]
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
      summary: 'Suppress addresses',
      description: DESCRIPTION,
      body,
      examples: {
        One: { address: 'ann@example.net', note: 'Asked by telephone' },
        'Several addresses, bulk mail only, for a limited time': {
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
