import { z } from 'zod';
import { environmentSchema } from '../../domain/kernel/ids.ts';
import type { Contents, SuppressionEvidence } from '../../domain/ports/contents.ts';
import { SUPPRESSION_REASONS, SUPPRESSION_SCOPES, type SuppressionScope } from '../../domain/suppression/events.ts';
import {
  type ExistingSuppression,
  isInForce,
  type SuppressionEntry,
  strongest,
  strongestEntry,
} from '../../domain/suppression/suppression.ts';
import { timeSchema } from './envelope.ts';

const status = z.enum(['active', 'expired', 'removed']);
const reason = z.enum(SUPPRESSION_REASONS);
const scope = z.enum(SUPPRESSION_SCOPES);

/** A reason to suppress the address, in force or not. */
const entrySchema = z.strictObject({
  reason,
  scope,
  topic_id: z.string().nullable().describe('Topic of an entry with scope `topic`; null otherwise.'),
  status,
  evidence: z.string().nullable().describe('Reply of the server, or the note given with it.'),
  message_id: z.string().nullable().describe('The message that caused it.'),
  recipient_id: z.string().nullable(),
  added_at: timeSchema(),
  expires_at: timeSchema().nullable(),
  removed_at: timeSchema().nullable(),
});

export const suppressionSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('suppression'),
    address: z.string().nullable().describe('null: erased.'),
    environment: environmentSchema,
    status,
    scope: scope.describe('Mail that is blocked by the active entries together.'),
    reason: reason.describe('Reason of the strongest entry, which also determines `expires_at`.'),
    expires_at: timeSchema().nullable(),
    entries: z.array(entrySchema).describe('All recorded entries, oldest first, including withdrawn ones.'),
    created_at: timeSchema(),
  })
  .meta({ id: 'Suppression' });
export type SerializedSuppression = z.infer<typeof suppressionSchema>;

/** Result of adding several addresses. */
export const addedSuppressionsSchema = z.strictObject({
  object: z.literal('suppressions_added'),
  added: z.number().int(),
  unchanged: z.number().int().describe('The address was on the list for this reason already.'),
  data: z.array(suppressionSchema).describe('In the order of `addresses`, each once.'),
});

export const suppressionCheckSchema = z.strictObject({
  object: z.literal('suppression_check'),
  address: z.string(),
  suppressed: z
    .strictObject({ transactional: z.boolean(), bulk: z.boolean() })
    .describe('For mail without a topic. `entries` of the suppression name the topics.'),
  opted_in: z.array(z.string()).describe('Ids of topics that its owner has opted in to, on the page or by you.'),
  suppression: suppressionSchema.nullable().describe('Known facts about the address; null: none.'),
});

export const suppressionImportSchema = z.strictObject({
  object: z.literal('suppression_import'),
  imported: z.number().int(),
  unchanged: z.number().int().describe('The address was on the list for this reason already.'),
  refused: z.number().int(),
  problems: z
    .array(z.strictObject({ line: z.number().int(), message: z.string() }))
    .describe('One for each refused row.'),
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
