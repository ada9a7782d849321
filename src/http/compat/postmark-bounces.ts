import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import { createMemo, mapConcurrently } from '../../lib/async/async.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { integerParameter } from '../fields.ts';
import type { SerializedListedMessage, SerializedMessage } from '../resources/messages/message.ts';
import { filtersOf, MESSAGE_FILTERS, OFFSET_MAX, present, STREAM_NAMES, tagOf, text } from './postmark-reads.ts';
import { entryIn, findSuppressed, pageByNumber, totalOf } from './suppressions.ts';
import { type List, perform, refuseField, throughDay } from './translate.ts';

/** Bounces of the npm package `postmark`: recipients of our messages, by their outcome. */

type ListedRecipient = SerializedListedMessage['recipients'][number];

interface BounceType {
  readonly Name: string;
  readonly Type: string;
  readonly TypeCode: number;
  /** Our outcome, as a filter and as a metric. */
  readonly outcome: 'bounced' | 'expired' | 'complained' | 'unsubscribed';
  has(recipient: ListedRecipient): boolean;
}

/** Their types that have an outcome of ours. A recipient of several is listed under each. */
export const BOUNCE_TYPES: readonly BounceType[] = [
  {
    Name: 'Hard bounce',
    Type: 'HardBounce',
    TypeCode: 1,
    outcome: 'bounced',
    has: ({ status }) => status === 'bounced',
  },
  {
    Name: 'Message delayed/Undeliverable',
    Type: 'SoftBounce',
    TypeCode: 4096,
    outcome: 'expired',
    has: ({ status }) => status === 'expired',
  },
  {
    Name: 'Spam complaint',
    Type: 'SpamComplaint',
    TypeCode: 100_001,
    outcome: 'complained',
    has: ({ complained }) => complained,
  },
  {
    Name: 'Unsubscribe request',
    Type: 'Unsubscribe',
    TypeCode: 16,
    outcome: 'unsubscribed',
    has: ({ unsubscribed }) => unsubscribed,
  },
];

const [HARD] = BOUNCE_TYPES as readonly [BounceType];

/** @throws {DomainError} `invalid_request`. */
const typeNamed = (name: string): BounceType => {
  const found = BOUNCE_TYPES.find(({ Type }) => Type === name);
  if (found !== undefined) return found;
  throw refuseField('type', `must be ${BOUNCE_TYPES.map(({ Type }) => Type).join(', ')}`);
};

/** Text that names a recipient of a message. Programs pass it back unchanged. */
const idOf = (messageId: string, recipientId: string): string => `${messageId}.${recipientId}`;

interface FoundBounce {
  readonly type: BounceType;
  readonly message: SerializedMessage;
  readonly recipient: SerializedMessage['recipients'][number];
}

const isSuppressed = async (route: RouteContext, call: Call<unknown, unknown>, address: string | null) => {
  const found = address === null ? null : await findSuppressed(route, call, address, {});
  return found !== null && entryIn(found, { reasons: ['bounce', 'complaint', 'unsubscribe'] }) !== undefined;
};

const serializeBounce = async (
  route: RouteContext,
  call: Call<unknown, unknown>,
  { type: { Name, Type, TypeCode }, message, recipient }: FoundBounce,
) => ({
  RecordType: 'Bounce',
  ID: idOf(message.id, recipient.id),
  Type,
  TypeCode,
  Name,
  Tag: tagOf(message.tags),
  MessageID: message.id,
  ServerID: 0,
  Description: recipient.reason ?? '',
  Details: recipient.smtp?.text ?? recipient.reason ?? '',
  Email: recipient.address ?? '',
  From: message.from ?? '',
  BouncedAt: recipient.updated_at,
  DumpAvailable: false,
  Inactive: await isSuppressed(route, call, recipient.address),
  CanActivate: false,
  Subject: message.subject ?? '',
  MessageStream: STREAM_NAMES[message.stream],
});

/** Each bounce of a page costs reads of its message and its suppression. Higher: slow answers. Lower: more requests. */
const BOUNCES_MAX = 100;
/** Bounces that are read at the same time. More hold connections that other requests need, fewer keep the client waiting. */
const READS_MAX = 4;

const loadMessage = (route: RouteContext, call: Call<unknown, unknown>, id: string): Promise<SerializedMessage> =>
  perform<SerializedMessage>(route, call, 'GET /v1/messages/:id', { id });

const notFound = (): DomainError => new DomainError('not_found', 'bounce not found');

const recipientOf = (message: SerializedMessage, id: string) => {
  const recipient = message.recipients.find((one) => one.id === id);
  if (recipient === undefined) throw notFound();
  return recipient;
};

const listPostmarkBouncesRoute = endpoint(
  'GET /compat/postmark/bounces',
  {
    summary: 'getBounces',
    query: z.strictObject({
      count: integerParameter(1, BOUNCES_MAX).default(BOUNCES_MAX),
      offset: integerParameter(0, OFFSET_MAX).default(0),
      type: text,
      emailFilter: text,
      tag: text,
      fromDate: text,
      toDate: text,
      messageStream: text,
    }),
  },
  async (call, route) => {
    const { count, offset, type: name, emailFilter, tag, fromDate, toDate, messageStream } = call.query;
    const type = name === undefined ? HARD : typeNamed(name);
    const filters = present({
      outcome: type.outcome,
      to: emailFilter,
      ...filtersOf({ tag, messageStream }),
      since: fromDate,
      until: throughDay(toDate),
    });
    const found = await pageByNumber(
      (query) =>
        perform<List<SerializedListedMessage>>(route, call, 'GET /v1/messages', {
          query: { ...query, ...filters },
          names: { ...MESSAGE_FILTERS, to: 'emailFilter' },
        }),
      { offset, limit: count, instead: 'GET /v1/messages' },
      ({ id, recipients }) => recipients.filter((one) => type.has(one)).map((one) => ({ id, recipientId: one.id })),
    );
    const bounds = { system: route.deps.context.system, concurrency: READS_MAX };
    // A message with several bounced recipients is read once.
    const messages = createMemo<Promise<SerializedMessage>>(BOUNCES_MAX);
    const Bounces = await mapConcurrently(found.items, bounds, async ({ id, recipientId }) => {
      const message = await messages(id, () => loadMessage(route, call, id));
      return serializeBounce(route, call, { type, message, recipient: recipientOf(message, recipientId) });
    });
    return { TotalCount: totalOf(offset, found), Bounces };
  },
);

const getPostmarkBounceRoute = endpoint(
  'GET /compat/postmark/bounces/:id',
  { summary: 'getBounce' },
  async (call, route) => {
    const [messageId = '', recipientId = ''] = call.id.split('.');
    const message = await loadMessage(route, call, messageId);
    const recipient = recipientOf(message, recipientId);
    const type = BOUNCE_TYPES.find((one) => one.has(recipient));
    if (type === undefined) throw notFound();
    return serializeBounce(route, call, { type, message, recipient });
  },
);

/** All routes of this file, by the name of the operation. */
export const POSTMARK_BOUNCE_ROUTES = { listPostmarkBouncesRoute, getPostmarkBounceRoute };
