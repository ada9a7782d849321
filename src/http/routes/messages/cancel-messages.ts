import { z } from 'zod';
import { mapConcurrently } from '../../../async/map-concurrently.ts';
import { cancelMessage } from '../../../commands/message/change-message.ts';
import { DomainError } from '../../../domain/domain-error.ts';
import { ERROR_CATALOGUE, type ErrorCode } from '../../../domain/error-catalogue.ts';
import { cancelMessage as decideCancel } from '../../../domain/message/change-message.ts';
import type { RecipientStatus } from '../../../domain/message/recipient.ts';
import { readYourWrites } from '../../consistency.ts';
import { type Call, endpoint, type RouteContext } from '../../endpoint.ts';
import { atMost } from '../../validation/fields.ts';
import { findMessages, type MessageFilters, messageFilters } from './find-messages.ts';
import { loadMessage } from './messages.ts';

/** Cancels many messages: those that are named, or those that match and wait. */

/** Of one request. More: it takes longer than clients wait. Fewer: more requests for the same. */
const CANCELLED_MAX = 500;
/** Each takes a connection from other requests. */
const CONCURRENCY = 4;
/** Of a message that can still be called back; one that is being sent may become so. */
const WAITING = ['accepted', 'scheduled', 'deferred'] as const satisfies readonly RecipientStatus[];

const { message_id: _, secret: __, template_version: ___, status: ____, ...filters } = messageFilters();

const filterSchema = z
  .strictObject({ ...filters, status: z.enum(WAITING).optional().describe('Default: all that wait.') })
  .refine((given) => Object.keys(given).length > 0, 'must have a condition: nothing cancels everything by mistake');

const body = z
  .strictObject({
    ids: atMost(CANCELLED_MAX, z.array(z.string())).optional().describe(`At most ${CANCELLED_MAX} messages.`),
    filter: filterSchema.optional().describe('As `GET /v1/messages` takes them.'),
    dry_run: z.boolean().default(false).describe('Says which would be, and cancels nothing.'),
  })
  .refine(({ ids, filter }) => (ids === undefined) !== (filter === undefined), {
    message: 'give either ids or filter',
    path: ['ids'],
  });

const codes = Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[]; // the keys of that very object

const answer = z.strictObject({
  object: z.literal('cancellation'),
  dry_run: z.boolean(),
  matched: z.number().int().describe('Messages of this request.'),
  cancelled: z.number().int(),
  has_more: z
    .boolean()
    .describe(`More match than the ${CANCELLED_MAX} of one request: repeat it, what is cancelled matches no more.`),
  data: z.array(
    z.strictObject({
      id: z.string(),
      cancelled: z.boolean(),
      error: z.strictObject({ code: z.enum(codes), message: z.string() }).nullable(),
    }),
  ),
});

type Answered = z.output<typeof answer>['data'][number];

type Asked = Call<z.output<typeof body>, unknown>;

interface Matched {
  readonly ids: readonly string[];
  readonly hasMore: boolean;
}

/** Newest first within each status. */
const matching = async (
  { deps }: RouteContext,
  { caller }: Asked,
  filter: z.output<typeof filterSchema>,
): Promise<Matched> => {
  await readYourWrites(deps, ['messages']);
  const ids: string[] = [];
  let hasMore = false;
  for (const status of filter.status === undefined ? WAITING : [filter.status]) {
    const asked: MessageFilters = { ...filter, status };
    const page = await findMessages(deps, caller, { ...asked, limit: CANCELLED_MAX, after: null });
    ids.push(...page.items.map(({ messageId }) => messageId));
    hasMore ||= page.hasMore;
  }
  return { ids: ids.slice(0, CANCELLED_MAX), hasMore: hasMore || ids.length > CANCELLED_MAX };
};

const refusalOf = (error: unknown): Pick<DomainError, 'code' | 'message'> => {
  if (!(error instanceof DomainError)) throw error;
  return error;
};

const cancelOne = async (
  { deps }: RouteContext,
  { caller, origin, body: { dry_run } }: Asked,
  id: string,
): Promise<Answered> => {
  try {
    const { message } = await loadMessage(deps, caller, id);
    const now = deps.context.system.now().toISOString();
    if (dry_run) decideCancel(message, { organizationId: caller.organizationId, now });
    else await cancelMessage(deps.context, origin, { messageId: id });
    return { id, cancelled: !dry_run, error: null };
  } catch (error) {
    const { code, message } = refusalOf(error);
    return { id, cancelled: false, error: { code, message } };
  }
};

export const cancelMessagesRoute = endpoint(
  'POST /v1/messages/cancel',
  {
    summary: 'Cancel many messages',
    description:
      `Those that are named, or up to ${CANCELLED_MAX} that match a filter and wait. Each is cancelled as if alone: one that ` +
      'is being sent or has ended is told in `data`, and stops no other. Repeating it changes nothing more.',
    body,
    examples: { 'What waits for a domain': { filter: { recipient_domain: 'example.net' }, dry_run: true } },
    answer,
  },
  async (call, route) => {
    const { ids, filter, dry_run } = call.body;
    const matched =
      filter === undefined ? { ids: [...new Set(ids)], hasMore: false } : await matching(route, call, filter);
    const { system } = route.deps.context;
    const data = await mapConcurrently(matched.ids, { system, concurrency: CONCURRENCY }, (id) =>
      cancelOne(route, call, id),
    );
    return {
      object: 'cancellation',
      dry_run,
      matched: data.length,
      cancelled: data.filter(({ cancelled }) => cancelled).length,
      has_more: matched.hasMore,
      data,
    };
  },
);
