import { z } from 'zod';
import { contactsTo } from '../../commands/auditor.ts';
import {
  digestOfAddress,
  type ErasableData,
  findInMessage,
  findInSuppressions,
  loadErasure,
  NOTHING_FOUND,
  type Person,
  pagesTo,
  requestErasure,
  together,
} from '../../commands/erasure.ts';
import { isHeld } from '../../commands/organization.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { ERASURE_COUNTS_NONE, ERASURE_REASONS, type ExistingErasure } from '../../domain/erasure/erasure.ts';
import type { ErasureProgress } from '../../domain/ports/contents.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { timeSchema } from '../fields.ts';
import { listEndpoint, readYourWrites, setRevision } from '../reading.ts';
import { erasureCountsSchema } from './events/event.ts';
import { serializeErasureCounts } from './events/serialize-events.ts';
import { addressField } from './suppressions/add-suppressions.ts';

const reasonSchema = z.enum(ERASURE_REASONS).describe('Legal ground (GDPR Art. 17(1)). `requested`: not specified.');

const erasureSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('erasure'),
    state: z
      .enum(['running', 'held', 'completed'])
      .describe(
        '`running`: things are being removed, or messages have not ended for all of their recipients yet. `held`: a legal hold of the organization delays it.',
      ),
    reason: reasonSchema,
    suppress: z.boolean(),
    progress: z.strictObject({
      removed: erasureCountsSchema.describe('Number so far.'),
      waiting_messages: z.int().describe('Messages that are removed once they have ended for all recipients.'),
      updated_at: timeSchema().nullable().describe('null: not started.'),
    }),
    certificate: z
      .strictObject({
        removed: erasureCountsSchema,
        completed_at: timeSchema(),
        log_position: z.string().nullable().describe('Position in the log.'),
      })
      .nullable()
      .describe('null: still running.'),
    created_at: timeSchema(),
  })
  .meta({ id: 'Erasure' });

const serializeErasure = (
  { erasureId, status, reason, suppress, certificate, createdAt }: ExistingErasure,
  { progress, held }: { readonly progress: ErasureProgress | undefined; readonly held: boolean },
): z.infer<typeof erasureSchema> => ({
  id: erasureId,
  object: 'erasure',
  state: held && status === 'running' ? 'held' : status,
  reason,
  suppress,
  progress: {
    removed: serializeErasureCounts(progress?.counts ?? certificate?.counts ?? ERASURE_COUNTS_NONE),
    waiting_messages: progress?.waitingMessages ?? 0,
    updated_at: progress?.updatedAt ?? null,
  },
  certificate: certificate && {
    removed: serializeErasureCounts(certificate.counts),
    completed_at: certificate.completedAt,
    log_position: certificate.position,
  },
  created_at: createdAt,
});

const serializeErasures = async (
  { retention, context }: Pick<HttpDependencies, 'retention' | 'context'>,
  organizationId: string,
  erasures: readonly ExistingErasure[],
): Promise<readonly z.infer<typeof erasureSchema>[]> => {
  const progress = await retention.erasureProgress(erasures.map(({ erasureId }) => erasureId));
  const held = await isHeld(context, organizationId);
  return erasures.map((each) => serializeErasure(each, { progress: progress.get(each.erasureId), held }));
};

const address = addressField().describe(
  'Address whose data is removed. It is not stored; related data is found by its digest.',
);

const REQUEST_DESCRIPTION = `Removes the data stored about an address, in both environments: messages to it with all of their contents, once they have
ended for all of their recipients; replies of mail servers, clicked links, notes and evidence of suppressions, responses of
webhooks, captured mail, and the contact of the organization and of its auditors. Mail to it that has not been sent is
cancelled. Ids, digests, recipient domains, times, codes and counts stay, and so do suppressions, by digest. The erasure
runs in the background: \`erasure.completed\` is sent at the end. While an erasure of the address is running, further
requests return it.`;

export const requestErasureRoute = endpoint(
  'POST /v1/erasures',
  {
    summary: 'Erase what is stored about an address',
    description: REQUEST_DESCRIPTION,
    body: z.strictObject({
      address,
      reason: reasonSchema.default('requested'),
      suppress: z
        .boolean()
        .default(false)
        .describe('Also suppress the address for all live mail. Existing suppressions stay either way.'),
    }),
    examples: {
      'A person asked for it': { address: 'ann@example.net' },
      'And wants no mail any more': { address: 'ann@example.net', reason: 'objection', suppress: true },
    },
    answer: erasureSchema,
  },
  async ({ origin, body, reply }, { deps }) => {
    const { erasure, revision } = await requestErasure(deps.context, origin, body);
    setRevision(reply, revision);
    reply.header('location', `/v1/erasures/${erasure.erasureId}`);
    const [serialized] = await serializeErasures(deps, origin.organizationId, [erasure]);
    return serialized;
  },
);

export const listErasuresRoute = listEndpoint(
  'GET /v1/erasures',
  { summary: 'List erasures, newest first', of: 'erasures', item: erasureSchema },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.erasures.list({ organizationId, ...by });
    return { ...page, items: await serializeErasures(deps, organizationId, page.items) };
  },
);

export const getErasureRoute = endpoint(
  'GET /v1/erasures/:id',
  { summary: 'Read an erasure, its progress and its certificate', answer: erasureSchema },
  async ({ caller: { organizationId }, id, reply }, { deps }) => {
    const { erasure, revision } = await loadErasure(deps.context, organizationId, id);
    setRevision(reply, revision);
    const [serialized] = await serializeErasures(deps, organizationId, [erasure]);
    return serialized;
  },
);

/** Pages of messages that a preview reads from the log: more keeps the client waiting. */
const PREVIEW_PAGES_MAX = 10;

const previewSchema = z.strictObject({
  object: z.literal('erasure_preview'),
  would_remove: erasureCountsSchema,
  waiting_messages: z.int().describe('Messages that have not ended for all of their recipients.'),
  has_more: z.boolean().describe('True if only the newest messages were counted.'),
});

const findAll = async (
  { deps: { context, readModels }, auth }: RouteContext,
  person: Person,
): Promise<{ readonly found: ErasableData; readonly hasMore: boolean }> => {
  const { auditors } = await auth.keyCache.load();
  const contacts = { ...NOTHING_FOUND, contentIds: await contactsTo(context, person, auditors.values()) };
  const found: ErasableData[] = [await findInSuppressions(context, person), contacts];
  let pages = 0;
  for await (const messageIds of pagesTo(readModels.messages.to, person)) {
    if (pages === PREVIEW_PAGES_MAX) return { found: together(found), hasMore: messageIds.length > 0 };
    pages += 1;
    for (const id of messageIds) found.push(await findInMessage(context, person, id));
  }
  return { found: together(found), hasMore: false };
};

const personOf = async (deps: HttpDependencies, { organizationId }: Caller, of: string): Promise<Person> => ({
  organizationId,
  digest: await digestOfAddress(deps.context, organizationId, of),
  endpoints: await deps.readModels.webhooks.endpointsOf(organizationId),
});

export const previewErasureRoute = endpoint(
  'POST /v1/erasures/preview',
  {
    summary: 'Count what an erasure would remove',
    description: 'Changes nothing. At most the newest thousand messages are counted.',
    body: z.strictObject({ address }),
    examples: { 'Before the erasure of a person': { address: 'ann@example.net' } },
    answer: previewSchema,
    etag: false,
  },
  async ({ caller, body }, route) => {
    const { deps } = route;
    await readYourWrites(deps, ['messages', 'webhooks']);
    const person = await personOf(deps, caller, body.address);
    const { found, hasMore } = await findAll(route, person);
    const counts = await deps.retention.countErasable({ organizationId: caller.organizationId, ...found });
    return {
      object: 'erasure_preview',
      would_remove: serializeErasureCounts(counts),
      waiting_messages: found.waitingMessages,
      has_more: hasMore,
    };
  },
);
