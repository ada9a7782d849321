import { z } from 'zod';
import { contactsTo } from '../../commands/auditor.ts';
import {
  digestOfAddress,
  type ErasableData,
  findInInbound,
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
import type { Caller } from '../../domain/api-key/caller.ts';
import { ERASURE_COUNTS_NONE, ERASURE_REASONS, type ExistingErasure } from '../../domain/erasure/erasure.ts';
import type { ErasureProgress } from '../../domain/ports/contents.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { timeSchema } from '../fields.ts';
import { listEndpoint, readYourWrites, setRevision } from '../reading.ts';
import { erasureCountsSchema } from './events/event.ts';
import { serializeErasureCounts } from './events/serialize-events.ts';
import { addressField } from './suppressions/add-suppressions.ts';

const reasonSchema = z
  .enum(ERASURE_REASONS)
  .describe('Legal ground for the erasure (GDPR Art. 17(1)). `requested`: none stated.');

const erasureSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('erasure'),
    state: z
      .enum(['running', 'held', 'completed'])
      .describe(
        '`running`: the erasure is in progress, or waits for messages that are still being delivered. `held`: a legal hold delays it. `completed`: `certificate` states what was removed.',
      ),
    reason: reasonSchema,
    suppress: z.boolean(),
    progress: z.strictObject({
      removed: erasureCountsSchema.describe('Number of items removed so far.'),
      waiting_messages: z
        .int()
        .describe('Messages that are still open for some recipients. They are removed when they have ended.'),
      updated_at: timeSchema().nullable().describe('null: the erasure has not started yet.'),
    }),
    certificate: z
      .strictObject({
        removed: erasureCountsSchema,
        completed_at: timeSchema(),
        log_position: z.string().nullable().describe('Position in the log at which the erasure was complete.'),
      })
      .nullable()
      .describe('null: the erasure is not complete yet.'),
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
  'Address whose data is removed. The address itself is not stored: its data is found by a digest.',
);

const REQUEST_DESCRIPTION = `Removes everything stored about an address, in both environments, and cancels mail to it that has not been sent.

- Removed: the contents of messages to the address, once the messages have ended for all of their recipients; inbound
  messages from and to the address; replies of mail servers; clicked links; notes and evidence of suppressions; responses of webhooks; captured mail; and the address
  as a contact of the organization or of an auditor.
- Kept: ids, digests, recipient domains, times, codes, counts, and suppressions (by digest).

The erasure runs in the background and ends with the event \`erasure.completed\`. If one is already running for this
address, the response is that erasure.`;

export const requestErasureRoute = endpoint(
  'POST /v1/erasures',
  {
    summary: 'Erase an address',
    description: REQUEST_DESCRIPTION,
    body: z.strictObject({
      address,
      reason: reasonSchema.default('requested'),
      suppress: z
        .boolean()
        .default(false)
        .describe('true: also suppress the address for all live mail. Existing suppressions stay in any case.'),
    }),
    examples: {
      'A person asked for erasure': { address: 'ann@example.net' },
      'Erase and suppress the address': { address: 'ann@example.net', reason: 'objection', suppress: true },
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
  { summary: 'List erasures', of: 'erasures', item: erasureSchema },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.erasures.list({ organizationId, ...by });
    return { ...page, items: await serializeErasures(deps, organizationId, page.items) };
  },
);

export const getErasureRoute = endpoint(
  'GET /v1/erasures/:id',
  { summary: 'Get an erasure', answer: erasureSchema },
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
  waiting_messages: z.int().describe('Messages that are still open for some recipients.'),
  has_more: z.boolean().describe('true: there are more messages than were counted.'),
});

const findAll = async (
  { deps: { context, readModels }, auth }: RouteContext,
  person: Person,
): Promise<{ readonly found: ErasableData; readonly hasMore: boolean }> => {
  const { auditors } = await auth.keyCache.load();
  const contacts = { ...NOTHING_FOUND, contentIds: await contactsTo(context, person, auditors.values()) };
  const found: ErasableData[] = [await findInSuppressions(context, person), contacts];
  let pages = 0;
  for await (const each of findInInbound(context, readModels.inbound.ofPerson, person)) {
    if (pages === PREVIEW_PAGES_MAX) return { found: together(found), hasMore: true };
    pages += 1;
    found.push(each);
  }
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
    summary: 'Preview an erasure',
    description: 'Counts what an erasure would remove, and changes nothing. Counts at most the newest 1,000 messages.',
    body: z.strictObject({ address }),
    examples: { 'Count the data of an address': { address: 'ann@example.net' } },
    answer: previewSchema,
    etag: false,
  },
  async ({ caller, body }, route) => {
    const { deps } = route;
    await readYourWrites(deps, ['messages', 'inbound', 'webhooks']);
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
