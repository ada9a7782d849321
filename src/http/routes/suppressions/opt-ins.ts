import { z } from 'zod';
import { recordOptIns } from '../../../commands/suppression/change-suppression.ts';
import { loadTopic } from '../../../commands/topic.ts';
import { strongestEntry } from '../../../domain/suppression/suppression.ts';
import { bodyOf } from '../../bodies/json-bodies.ts';
import { readYourWrites } from '../../consistency.ts';
import { endpoint } from '../../endpoint.ts';
import { decodeCursor, encodeCursor } from '../../lists.ts';
import { listOf, listSchema, timeSchema } from '../../schemas/envelope.ts';
import { loadEvidence } from '../../schemas/suppression.ts';
import { atMost, pageParameters, text } from '../../validation/fields.ts';
import { addressField, distinct } from './add-suppressions.ts';
import { idOfAddress, visibleDomain } from './suppressions.ts';

/** Each costs a read and an append. */
const OPT_INS_MAX = 1000;
/** Fits the maximum number of addresses at their maximum length. */
const OPT_IN_BYTES_MAX = 500_000;
const OPT_IN_DEADLINE_MS = 30_000;
/** A few sentences. */
const EVIDENCE_CHARACTERS_MAX = 2000;

const optIns = z.strictObject({
  addresses: atMost(OPT_INS_MAX, z.array(addressField()).min(1).max(OPT_INS_MAX)).describe(
    'Addresses of people who opted in.',
  ),
  evidence: text(EVIDENCE_CHARACTERS_MAX)
    .nullable()
    .default(null)
    .describe(
      'Evidence of consent, in words: how, when and where they opted in. The list shows it to you, not to recipients.',
    ),
});

const optInsSchema = z
  .strictObject({
    object: z.literal('topic_opt_ins'),
    topic_id: z.string(),
    added: z.number().int(),
    unchanged: z
      .number()
      .int()
      .describe('The address had opted in already. The new time and evidence are recorded anyway.'),
    data: z
      .array(
        z.strictObject({
          address: z.string(),
          suppressed: z
            .strictObject({ transactional: z.boolean(), bulk: z.boolean() })
            .describe('True for each stream in which something else blocks mail about the topic.'),
        }),
      )
      .describe('In the order of `addresses`, each once.'),
  })
  .meta({ id: 'TopicOptIns' });

export const optInRoute = endpoint(
  'POST /v1/topics/:id/opt-ins',
  {
    summary: 'Record that recipients opted in to a topic',
    description:
      'For consent given elsewhere, such as in a shop or on paper. From now on the recipients get mail about a topic with ' +
      '`default: "out"`. An opt-in withdraws their own refusal of this topic; unsubscriptions from all mail, bounces, ' +
      'complaints and your own entries stay active. They can opt out on the preference page, and you can do so for them with ' +
      'a suppression with scope `topic`. The latest choice in the order of the log applies. Several addresses are not one ' +
      'transaction: after a fault, repeat the request.',
    body: optIns,
    bounds: bodyOf(OPT_IN_BYTES_MAX),
    deadlineMs: OPT_IN_DEADLINE_MS,
    etag: false,
    examples: {
      'Two recipients': {
        addresses: ['ann@example.net', 'bob@example.org'],
        evidence: 'Signed up at the shop in Graz on 3 May 2026',
      },
    },
    answer: optInsSchema,
  },
  async (
    { caller: { environment, organizationId }, origin, id, body: { addresses, evidence } },
    { deps: { context } },
  ) => {
    const { topic } = await loadTopic(context, organizationId, id);
    const { topicId } = topic;
    const recorded = await recordOptIns(context, origin, {
      environment,
      topicId,
      evidence,
      addresses: distinct(addresses),
    });
    const now = context.system.now().toISOString();
    const added = recorded.filter((one) => one.added).length;
    return {
      object: 'topic_opt_ins' as const,
      topic_id: topicId,
      added,
      unchanged: recorded.length - added,
      data: recorded.map(({ address, suppression }) => {
        const isKeptBack = (stream: 'transactional' | 'bulk'): boolean =>
          strongestEntry(suppression, { stream, topicId }, now) !== null;
        return { address, suppressed: { transactional: isKeptBack('transactional'), bulk: isKeptBack('bulk') } };
      }),
    };
  },
);

const optInSchema = z
  .strictObject({
    object: z.literal('topic_opt_in'),
    topic_id: z.string(),
    address: z.string().nullable().describe('null: erased.'),
    by: z.enum(['recipient', 'sender']).describe('Source of the opt-in: `recipient` on a page, or `sender` (you).'),
    evidence: z.string().nullable().describe('Evidence that you supplied.'),
    message_id: z.string().nullable().describe('Message with the link by which the recipient opted in.'),
    recipient_id: z.string().nullable(),
    opted_in_at: timeSchema(),
  })
  .meta({ id: 'TopicOptIn' });

const LIST = 'topic-opt-ins';
const listQuery = z.strictObject({
  ...pageParameters,
  address: addressField().optional().describe('Only this address.'),
});

export const listOptInsRoute = endpoint(
  'GET /v1/topics/:id/opt-ins',
  {
    summary: 'List recipients who opted in to a topic, latest first',
    description:
      'Opt-ins in the key’s environment, each with its latest time. Recipients who have opted out since are not listed. A ' +
      'listed address may be suppressed for another reason: see `GET /v1/suppressions/check`. A key with only `send` or ' +
      '`read` sees only opt-ins by a link in a message of its own domain.',
    query: listQuery,
    answer: listSchema(optInSchema),
  },
  async ({ caller, id, query: { limit, after: cursor, address } }, { deps }) => {
    const { topicId } = (await loadTopic(deps.context, caller.organizationId, id)).topic;
    const after = decodeCursor(LIST, cursor);
    const suppressionId = await idOfAddress(deps, caller, address);
    await readYourWrites(deps, ['suppressions']);
    const domainId = await visibleDomain(deps, caller);
    const { organizationId, environment } = caller;
    const by = { organizationId, topicId, environment, suppressionId, domainId, limit, after };
    const { items, hasMore, next } = await deps.readModels.topics.optIns(by);
    const found = await loadEvidence(deps.context.contents, items);
    const shown = items.map(({ contentId, source, at }) => ({
      object: 'topic_opt_in' as const,
      topic_id: topicId,
      address: found.get(contentId)?.address ?? null,
      by: source === null ? ('sender' as const) : ('recipient' as const),
      evidence: found.get(contentId)?.text ?? null,
      message_id: source?.messageId ?? null,
      recipient_id: source?.recipientId ?? null,
      opted_in_at: at,
    }));
    return listOf(shown, hasMore, encodeCursor(LIST, next));
  },
);
