import { z } from 'zod';
import { cancelMessage, rescheduleMessage } from '../../commands/message/attempt.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { RecipientStatus } from '../../domain/message/message.ts';
import { isRemoved, type MessageBody } from '../../domain/ports/contents.ts';
import { aliasOf } from '../../domain/template/template.ts';
import type { ListCursor, ListPage } from '../../lib/projections/projections.ts';
import type { ListedMessage } from '../../projections/messages/queries.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { timeField } from '../fields.ts';
import { readYourWrites } from '../reading.ts';
import { recordReading } from '../readings.ts';
import { findMessages } from '../resources/messages/find-messages.ts';
import {
  requireShowable,
  type SerializedListedMessage,
  type SerializedMessage,
  serializeListedMessage,
} from '../resources/messages/message.ts';
import { loadMessage, serializeCurrent } from '../resources/messages/messages.ts';
import { BATCH_BOUNDS, BATCH_DEADLINE_MS } from '../resources/messages/send-batch.ts';
import { isSent } from '../resources/messages/send-body.ts';
import { SEND_BOUNDS } from '../resources/messages/send-message.ts';
import { resendPage } from './resend-account.ts';
import {
  as,
  type FieldRule,
  type FieldRules,
  listOf,
  mailboxText,
  type PathNames,
  refused,
  requireMessages,
  sendMany,
  sendOne,
  sentenceOf,
  type Translate,
  takeFields,
} from './translate.ts';

/**
 * Endpoints for the npm package `resend` (versions 2 to 6): `new Resend(key, { baseUrl: '<this service>/compat/resend' })`.
 * Most of its fields have our names.
 */

/** Older versions of its client send a `Buffer` as `JSON.stringify` writes it; its data was read as base64. */
const takeFile: FieldRule = (value) => ({
  fields: { content: isSent(value) && value.type === 'Buffer' ? value.data : value },
});

const ATTACHMENT: FieldRules = {
  content: takeFile,
  filename: as('filename'),
  content_type: as('content_type'),
  content_id: as('content_id'),
  path: refused('is not supported: send the file as base64 in content'),
};

/** Imported templates have these aliases. */
const takeTemplate: FieldRule = (value) => ({
  fields: {
    template: isSent(value) && typeof value.id === 'string' ? { ...value, id: aliasOf(value.id) } : value,
  },
});

const FIELDS: FieldRules = {
  from: as('from'),
  to: as('to'),
  cc: as('cc'),
  bcc: as('bcc'),
  reply_to: as('reply_to'),
  subject: as('subject'),
  html: as('html'),
  text: as('text'),
  headers: as('headers'),
  tags: as('tags'),
  scheduled_at: as('scheduled_at'),
  template: takeTemplate,
  topic_id: as('topic'),
  attachments: listOf('attachments', ATTACHMENT),
};

const NAMES: PathNames = { topic: 'topic_id' };

const translate: Translate = (sent) => takeFields(sent, FIELDS);

export const sendResendEmailRoute = endpoint(
  'POST /compat/resend/emails',
  { summary: 'emails.send', body: z.unknown(), bounds: { ...SEND_BOUNDS, joinsLines: true, takesBuffers: true } },
  async (call, route) => {
    const { message } = await sendOne(route, call, { translate, names: NAMES });
    return { id: message.accepted.messageId };
  },
);

const MODE_HEADER = 'x-batch-validation';
const MODES = ['strict', 'permissive'];

/** @throws {DomainError} `invalid_request`. */
const isStrict = ({ headers }: Call<unknown, unknown>['request']): boolean => {
  const { [MODE_HEADER]: mode = 'strict' } = headers;
  if (typeof mode === 'string' && MODES.includes(mode)) return mode === 'strict';
  const problem = `${MODE_HEADER} must be strict or permissive`;
  throw new DomainError('invalid_request', problem, { details: { [MODE_HEADER]: [problem] } });
};

export const sendResendBatchRoute = endpoint(
  'POST /compat/resend/emails/batch',
  {
    summary: 'batch.send',
    body: z.unknown(),
    bounds: {
      ...BATCH_BOUNDS,
      joinsLines: true,
      takesBuffers: true,
      contentsAt: [null, 'attachments', null, 'content'],
    },
    deadlineMs: BATCH_DEADLINE_MS,
  },
  async (call, route) => {
    const strict = isStrict(call.request);
    const messages = requireMessages(call.body, 'body');
    const placeOf = (index: number): string => `[${index}].`;
    const sent = await sendMany(route, call, { messages, strict, translate, names: NAMES, placeOf });
    const data = sent.flatMap((one) => (one instanceof DomainError ? [] : [{ id: one.message.accepted.messageId }]));
    if (strict) return { data };
    const errors = sent.flatMap((one, index) =>
      one instanceof DomainError ? [{ index, message: sentenceOf(one) }] : [],
    );
    return { data, errors };
  },
);

type LastEvent =
  | 'bounced'
  | 'canceled'
  | 'clicked'
  | 'complained'
  | 'delivered'
  | 'delivery_delayed'
  | 'failed'
  | 'opened'
  | 'queued'
  | 'scheduled'
  | 'suppressed';

/** It has no word for what expired. */
const EVENTS: Readonly<Record<RecipientStatus, LastEvent>> = {
  accepted: 'queued',
  scheduled: 'scheduled',
  sending: 'queued',
  delivered: 'delivered',
  deferred: 'delivery_delayed',
  bounced: 'bounced',
  failed: 'failed',
  suppressed: 'suppressed',
  cancelled: 'canceled',
  expired: 'failed',
};

/** Actions of recipients take precedence over delivery. */
const lastEventOf = ({ status, recipients }: SerializedListedMessage): LastEvent => {
  for (const mark of ['complained', 'clicked', 'opened'] as const) if (recipients.some((one) => one[mark])) return mark;
  return EVENTS[status];
};

/** null if the list is empty. */
const addressesOf = ({ recipients }: SerializedListedMessage, kind: 'to' | 'cc' | 'bcc'): readonly string[] | null => {
  const found = recipients.flatMap((one) => (one.kind === kind ? [one.address ?? ''] : []));
  return found.length === 0 ? null : found;
};

const serializeHead = (message: SerializedListedMessage) => ({
  id: message.id,
  message_id: message.message_id,
  to: addressesOf(message, 'to') ?? [],
  cc: addressesOf(message, 'cc'),
  bcc: addressesOf(message, 'bcc'),
  from: message.from ?? '',
  subject: message.subject ?? '',
  created_at: message.created_at,
  scheduled_at: message.scheduled_at,
  last_event: lastEventOf(message),
});

/** @param content null: it was removed. */
const serializeEmail = (message: SerializedMessage, content: MessageBody | null) => ({
  object: 'email',
  ...serializeHead({ ...message, recipients: message.recipients }),
  ...(content === null ? {} : { from: mailboxText(content.from.address, content.from.name) }),
  reply_to: content === null || content.replyTo.length === 0 ? null : content.replyTo.map(({ address }) => address),
  html: content?.html ?? null,
  text: content?.text ?? null,
  tags: message.tags,
  topic_id: message.topic_id,
});

export const getResendEmailRoute = endpoint(
  'GET /compat/resend/emails/:id',
  { summary: 'emails.get', large: true },
  async ({ caller, id, origin, request }, { deps }) => {
    const { message } = await loadMessage(deps, caller, id);
    const { contentId } = message.accepted;
    const found = (await deps.context.contents.get([contentId])).get(contentId);
    if (found === undefined)
      throw new DomainError('unavailable', 'the contents of the message cannot be read at the moment: try again');
    const content = found.kind === 'message' ? found : null;
    if (content === null && !isRemoved(found)) throw new Error(`${contentId} are no contents of a message`);
    if (content !== null) {
      requireShowable(content);
      await recordReading(deps, { origin, request }, { what: 'message_content', subjectId: id });
    }
    return serializeEmail(await serializeCurrent(deps, message), content);
  },
);

/**
 * Emails between the newest and the one that `before` names, which are read to find those next to it. Higher: one request
 * reads the list for longer than its client waits. Lower: programs cannot page back as far.
 */
const BEFORE_MAX = 1_000;
const PAGE = 100;

/** The place of a message in the list. */
const placeOf = async ({ deps }: RouteContext, caller: Caller, id: string): Promise<ListCursor> => ({
  id,
  createdAt: (await loadMessage(deps, caller, id)).message.acceptedAt,
});

/** The page of the list that ends before a message. @throws {DomainError} `invalid_request` if it is too far back. */
const pageBefore = async (
  route: RouteContext,
  caller: Caller,
  { before, limit }: { readonly before: ListCursor; readonly limit: number },
): Promise<ListPage<ListedMessage>> => {
  const newer: ListedMessage[] = [];
  for (let after: ListCursor | null = null; newer.length < BEFORE_MAX; ) {
    const page: ListPage<ListedMessage> = await findMessages(route.deps, caller, {
      limit: PAGE,
      since: before.createdAt,
      after,
    });
    const at = page.items.findIndex(({ messageId }) => messageId === before.id);
    newer.push(...(at === -1 ? page.items : page.items.slice(0, at)));
    after = page.next;
    if (at !== -1 || after === null) return { items: newer.slice(-limit), hasMore: newer.length > limit, next: null };
  }
  const problem = `before is more than ${BEFORE_MAX} emails back: read from there with after`;
  throw new DomainError('invalid_request', problem, { details: { before: [problem] } });
};

const page = resendPage
  .extend({ before: resendPage.shape.after })
  .refine(({ after, before }) => after === undefined || before === undefined, {
    path: ['before'],
    message: 'is not allowed together with after',
  });

export const listResendEmailsRoute = endpoint(
  'GET /compat/resend/emails',
  { summary: 'emails.list', query: page },
  async ({ caller, query: { limit, after, before } }, route) => {
    const { deps } = route;
    const cursor = after === undefined ? null : await placeOf(route, caller, after);
    const end = before === undefined ? null : await placeOf(route, caller, before);
    await readYourWrites(deps, ['messages']);
    const { items, hasMore } =
      end === null
        ? await findMessages(deps, caller, { limit, after: cursor })
        : await pageBefore(route, caller, { before: end, limit });
    const heads = await deps.context.contents.heads(items.map(({ contentId }) => contentId));
    const data = items.map((item) => serializeHead(serializeListedMessage(item, heads.get(item.contentId))));
    return { object: 'list', has_more: hasMore, data };
  },
);

export const rescheduleResendEmailRoute = endpoint(
  'PATCH /compat/resend/emails/:id',
  { summary: 'emails.update', body: z.strictObject({ scheduled_at: timeField() }) },
  async ({ caller, origin, id, body: { scheduled_at: scheduledAt } }, { deps }) => {
    const { known } = await loadMessage(deps, caller, id);
    await rescheduleMessage(deps.context, origin, { messageId: id, scheduledAt, known });
    return { object: 'email', id };
  },
);

export const cancelResendEmailRoute = endpoint(
  'POST /compat/resend/emails/:id/cancel',
  { summary: 'emails.cancel' },
  async ({ caller, origin, id }, { deps }) => {
    const { known } = await loadMessage(deps, caller, id);
    await cancelMessage(deps.context, origin, { messageId: id, known });
    return { object: 'email', id };
  },
);
