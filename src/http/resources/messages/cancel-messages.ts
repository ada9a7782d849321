import { z } from 'zod';
import { cancelMessage } from '../../../commands/message/attempt.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { allows } from '../../../domain/api-key/events.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { cancelMessage as decideCancel } from '../../../domain/message/accept-message.ts';
import type { RecipientStatus } from '../../../domain/message/message.ts';
import { mapConcurrently } from '../../../lib/async/async.ts';
import { consumeRateLimit, limitOf } from '../../auth/limits.ts';
import { requireOpenFilters } from '../../auth/permissions.ts';
import { type Call, endpoint, type RouteContext } from '../../endpoint.ts';
import { atMost, errorCodeSchema } from '../../fields.ts';
import { readYourWrites } from '../../reading.ts';
import { exactFilters, findMessages, type MessageFilters, messageFilters } from './find-messages.ts';
import { loadMessage } from './messages.ts';

/** Cancels many messages: those listed by id, or waiting ones that match a filter. */

/** Messages per request. Higher: slower than clients wait. Lower: more requests for the same work. */
const CANCELLED_MAX = 500;
/**
 * Messages that cost as much of the limit as one request. Higher: a key cancels far more than it may send. Lower: it
 * takes minutes to call back a mistake.
 */
const MESSAGES_PER_REQUEST = 25;
/** Each takes a connection from other requests. */
const CONCURRENCY = 4;
/** Statuses in which a message can be cancelled, now or once the current attempt is deferred. */
const WAITING = ['accepted', 'scheduled', 'deferred'] as const satisfies readonly RecipientStatus[];

const {
  message_id: _,
  secret: __,
  template_version: ___,
  status: ____,
  outcome: _____,
  outcome_since: ______,
  outcome_until: _______,
  ...filters
} = messageFilters();

const filterSchema = z
  .strictObject({
    ...filters,
    ...exactFilters(),
    status: z.enum(WAITING).optional().describe('Default: all waiting messages.'),
  })
  .refine(
    (given) => Object.keys(given).length > 0,
    'must have at least one condition, so that you do not cancel everything by mistake',
  );

const body = z
  .strictObject({
    ids: atMost(CANCELLED_MAX, z.array(z.string())).optional().describe(`At most ${CANCELLED_MAX} messages.`),
    filter: filterSchema.optional().describe('Messages to cancel, by the filters of `GET /v1/messages`.'),
    dry_run: z
      .boolean()
      .default(false)
      .describe('true: return the messages that would be cancelled, and cancel nothing.'),
  })
  .refine(({ ids, filter }) => (ids === undefined) !== (filter === undefined), {
    message: 'send either ids or filter',
    path: ['ids'],
  });

const answer = z.strictObject({
  object: z.literal('cancellation'),
  dry_run: z.boolean(),
  matched: z.number().int().describe('The messages of this request.'),
  cancelled: z.number().int(),
  has_more: z
    .boolean()
    .describe(
      `true: more than ${CANCELLED_MAX} messages match. Repeat the request: cancelled messages no longer match.`,
    ),
  data: z.array(
    z.strictObject({
      id: z.string(),
      cancelled: z.boolean(),
      error: z.strictObject({ code: errorCodeSchema, message: z.string() }).nullable(),
    }),
  ),
});

type CancelResult = z.output<typeof answer>['data'][number];

type CancelCall = Call<z.output<typeof body>, unknown>;

interface MatchingMessages {
  readonly ids: readonly string[];
  readonly hasMore: boolean;
}

type Filter = z.output<typeof filterSchema>;

/** Matches reveal which mail was sent to whom. @throws {DomainError} `permission_missing`. */
const requireMayFind = (caller: Caller, filter: Filter): void => {
  if (!allows(caller.permissions, 'read'))
    throw new DomainError(
      'permission_missing',
      "API key lacks 'read' permission, which a filter requires: name the messages in ids instead",
    );
  requireOpenFilters(caller, {}, filter);
};

/** Newest first within each status. @param max of them. */
const matching = async (
  { deps }: RouteContext,
  caller: Caller,
  { filter, max }: { readonly filter: Filter; readonly max: number },
): Promise<MatchingMessages> => {
  await readYourWrites(deps, ['messages']);
  const ids: string[] = [];
  let hasMore = false;
  for (const status of filter.status === undefined ? WAITING : [filter.status]) {
    const asked: MessageFilters = { ...filter, status };
    const page = await findMessages(deps, caller, { ...asked, limit: max, after: null });
    ids.push(...page.items.map(({ messageId }) => messageId));
    hasMore ||= page.hasMore;
  }
  return { ids: ids.slice(0, max), hasMore: hasMore || ids.length > max };
};

/** Messages that one request may cancel with the whole limit of its key. */
const mostOf = ({ auth }: RouteContext, { request: { authenticated } }: CancelCall): number =>
  authenticated === null ? 0 : Math.min(CANCELLED_MAX, limitOf(auth, authenticated, 'send') * MESSAGES_PER_REQUEST);

/** @throws {DomainError} `batch_exceeds_limit`. */
const named = (ids: readonly string[], max: number): MatchingMessages => {
  const each = [...new Set(ids)];
  if (each.length <= max) return { ids: each, hasMore: false };
  const problem = `ids must have at most ${max} items: this is how many the key may cancel per minute`;
  throw new DomainError('batch_exceeds_limit', problem, { details: { ids: [problem] } });
};

/** @throws {DomainError} `permission_missing`, `batch_exceeds_limit`. */
const wanted = async (route: RouteContext, call: CancelCall): Promise<MatchingMessages> => {
  const { ids = [], filter } = call.body;
  const max = mostOf(route, call);
  if (filter === undefined) return named(ids, max);
  requireMayFind(call.caller, filter);
  return matching(route, call.caller, { filter, max });
};

/** Consumes the rate limit for all messages except those that authentication counted. @throws {DomainError} `rate_limit_exceeded`. */
const consumeForAll = async (
  { auth }: RouteContext,
  { request, reply }: CancelCall,
  messages: number,
): Promise<void> => {
  const count = Math.ceil(messages / MESSAGES_PER_REQUEST) - 1;
  if (count <= 0 || request.authenticated === null) return;
  await consumeRateLimit(auth, request.authenticated, { kind: 'send', count }, reply);
};

const refusalOf = (error: unknown): Pick<DomainError, 'code' | 'message'> => {
  if (!(error instanceof DomainError)) throw error;
  return error;
};

const cancelOne = async (
  { deps }: RouteContext,
  { callerNow, origin, body: { dry_run } }: CancelCall,
  id: string,
): Promise<CancelResult> => {
  const caller = await callerNow(); // the key or session may have been revoked since the first
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
    summary: 'Cancel several messages',
    description:
      `Cancels the listed messages, or up to ${CANCELLED_MAX} waiting messages that match a filter. Each message is ` +
      'cancelled separately: a message that is being sent or has ended is reported in `data` and does not stop the others. ' +
      'Repeating the request has no further effect. A filter requires the permission `read` in addition to `send`. ' +
      `Every ${MESSAGES_PER_REQUEST} messages use one request of the rate limit \`send\`, also with \`dry_run\`, so a key with ` +
      'a low limit can cancel fewer messages per request.',
    body,
    examples: { 'Waiting messages to a domain': { filter: { recipient_domain: 'example.net' }, dry_run: true } },
    answer,
  },
  async (call, route) => {
    const matched = await wanted(route, call);
    await consumeForAll(route, call, matched.ids.length);
    const { system } = route.deps.context;
    const data = await mapConcurrently(matched.ids, { system, concurrency: CONCURRENCY }, (id) =>
      cancelOne(route, call, id),
    );
    return {
      object: 'cancellation',
      dry_run: call.body.dry_run,
      matched: data.length,
      cancelled: data.filter(({ cancelled }) => cancelled).length,
      has_more: matched.hasMore,
      data,
    };
  },
);
