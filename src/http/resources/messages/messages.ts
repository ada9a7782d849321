import { Readable } from 'node:stream';
import { z } from 'zod';
import { type LoadedStream, load, readWholeStream } from '../../../commands/execute.ts';
import { cancelMessage, rescheduleMessage } from '../../../commands/message/attempt.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { customerEvents } from '../../../domain/customer-events/customer-events.ts';
import { requireOwn } from '../../../domain/kernel/aggregate.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { Revision } from '../../../domain/kernel/event-store.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { messageStream } from '../../../domain/kernel/streams.ts';
import { type ExistingMessage, type Message, message } from '../../../domain/message/message.ts';
import type { MessageBody } from '../../../domain/ports/contents.ts';
import type { OutgoingMail } from '../../../domain/ports/mail.ts';
import { visibleDomainId } from '../../auth/permissions.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { type Call, endpoint, type RouteContext } from '../../endpoint.ts';
import { listOf, listSchema, pageParameters, pageSchema, timeField } from '../../fields.ts';
import { imagesField, pageOfText, sealedMail, withImages } from '../../pages/mail-page.ts';
import { decodePlace, encodePlace, ifMatch, resourceEndpoint, setRevision } from '../../reading.ts';
import { recordReading } from '../../readings.ts';
import { eventSchema } from '../events/event.ts';
import { serializeEvents } from '../events/serialize-events.ts';
import {
  messageContentSchema,
  messageSchema,
  requireContent,
  type SerializedMessage,
  serializeMessage,
  serializeMessageContent,
} from './message.ts';

const notFound = (): DomainError => new DomainError('not_found', 'message not found');

/**
 * Loads a message that the caller may see.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const loadMessage = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{
  readonly message: ExistingMessage;
  readonly revision: Revision | 'no-stream';
  readonly known: LoadedStream<Message>;
}> => {
  if (!isId('msg', id)) throw notFound();
  const known = await load(context.store, message, messageStream(id));
  const found = requireOwn(known.state, caller.organizationId, 'message');
  const domainId = visibleDomainId(caller);
  if (found.environment !== caller.environment) throw notFound();
  if (domainId !== null && found.accepted.domainId !== domainId) throw notFound();
  return { message: found, revision: known.revision, known };
};

/** Serializes a message with its contents from the vault. */
export const serializeCurrent = async (
  deps: HttpDependencies,
  message: ExistingMessage,
): Promise<SerializedMessage> => {
  const { contentId } = message.accepted;
  const replies = message.recipients.map(({ smtp }) => smtp?.replyId ?? null).filter((one) => one !== null);
  const contents = await deps.context.contents.heads([contentId, ...replies]);
  return serializeMessage(message, contents);
};

export const getMessageRoute = resourceEndpoint(
  'GET /v1/messages/:id',
  { summary: 'Get a message', answer: messageSchema },
  async ({ caller, id, reply }, { deps }) => {
    const { message, revision } = await loadMessage(deps, caller, id);
    setRevision(reply, revision);
    return serializeCurrent(deps, message);
  },
);

export const getMessageContentRoute = endpoint(
  'GET /v1/messages/:id/content',
  {
    summary: 'Get the content of a message',
    description:
      'Returns the subject, bodies, headers and attachments. They are stored for the retention time of the organization (`content_retention_days`); afterwards the response is 410.',
    answer: messageContentSchema,
    large: true,
  },
  async ({ caller, id, origin, request }, { deps }) => {
    const { message } = await loadMessage(deps, caller, id);
    const content = await requireContent(deps.context.contents, message);
    await recordReading(deps, { origin, request }, { what: 'message_content', subjectId: id });
    return serializeMessageContent(id, content, await deps.textAlternatives.of(content, caller.organizationId));
  },
);

const listOfMessage = (id: string): string => `message-events/${id}`;
const query = z.strictObject(pageParameters);

export const listMessageEventsRoute = endpoint(
  'GET /v1/messages/:id/events',
  { summary: 'List the events of a message', query, answer: listSchema(eventSchema) },
  async ({ caller, id, query: { limit, after: cursor } }, { deps }) => {
    const { after } = decodePlace(listOfMessage(id), cursor);
    const before = Number(after ?? Number.POSITIVE_INFINITY);
    await loadMessage(deps, caller, id);
    const all = (await readWholeStream(deps.context.store, messageStream(id)))
      .flatMap(customerEvents)
      .filter(({ sequence }) => sequence < before);
    const page = all.toReversed().slice(0, limit);
    const last = page.at(-1);
    const hasMore = all.length > page.length;
    return listOf(
      await serializeEvents(deps.context.contents, page),
      hasMore,
      encodePlace(listOfMessage(id), hasMore && last !== undefined ? String(last.sequence) : null),
    );
  },
);

export const cancelMessageRoute = endpoint(
  'POST /v1/messages/:id/cancel',
  {
    summary: 'Cancel a message',
    description:
      'Stops a message that has not been sent: recipients that are accepted, scheduled or deferred become `cancelled`. While ' +
      'the message is being sent, the response is 409. Cancelling a cancelled message succeeds and changes nothing.',
    answer: messageSchema,
  },
  async ({ caller, origin, id, request, reply }, { deps }) => {
    const { known } = await loadMessage(deps, caller, id);
    const command = { messageId: id, known, ...ifMatch(request) };
    const { message, revision } = await cancelMessage(deps.context, origin, command);
    setRevision(reply, revision);
    return serializeCurrent(deps, message);
  },
);

const body = z.strictObject({ scheduled_at: timeField().describe('When to send: a time with a time zone.') });

export const rescheduleMessageRoute = endpoint(
  'PATCH /v1/messages/:id',
  {
    summary: 'Reschedule a message',
    description:
      'Moves a scheduled message to an earlier or later time, at most 30 days ahead. This is possible until the first attempt ' +
      'starts. The time to live keeps its length and starts at the new time.',
    body,
    examples: { 'Another day': { scheduled_at: '2030-01-01T09:00:00Z' } },
    answer: messageSchema,
  },
  async ({ caller, origin, id, body: { scheduled_at: scheduledAt }, request, reply }, { deps }) => {
    const { known } = await loadMessage(deps, caller, id);
    const command = { messageId: id, scheduledAt, known, ...ifMatch(request) };
    const { message, revision } = await rescheduleMessage(deps.context, origin, command);
    setRevision(reply, revision);
    return serializeCurrent(deps, message);
  },
);

/** A message as it looks, and as it is written. Reading either is put on record, like reading its content. */

export const readContent = async (
  { caller, id, origin, request }: Pick<Call<unknown, unknown>, 'caller' | 'id' | 'origin' | 'request'>,
  { deps }: RouteContext,
): Promise<{ readonly message: ExistingMessage; readonly body: MessageBody }> => {
  const { message } = await loadMessage(deps, caller, id);
  const body = await requireContent(deps.context.contents, message);
  await recordReading(deps, { origin, request }, { what: 'message_content', subjectId: id });
  return { message, body };
};

export const previewMessageRoute = endpoint(
  'GET /v1/messages/:id/preview',
  {
    summary: 'Preview a message',
    description:
      'Returns the html, or the text, in a sandboxed document that cannot run scripts, submit forms or load remote content. ' +
      'Images from its attachments are included, and links open in a new window. Viewing is not counted as an opening, but ' +
      'it is recorded in the audit log.',
    query: z.strictObject({ images: imagesField }),
    answer: pageSchema,
    mediaType: 'text/html',
  },
  async (call, route) => {
    const { body } = await readContent(call, route);
    const { html, text = '', subject, attachments } = body;
    const page = html === undefined ? pageOfText(subject, text) : withImages(html, attachments);
    return sealedMail(call.reply, page, call.query.images);
  },
);

/** Without the parts that differ between copies. */
const mailOf = ({ accepted, acceptedAt, organizationId }: ExistingMessage, body: MessageBody): OutgoingMail => ({
  organizationId,
  envelope: {
    from: body.from.address,
    to: body.recipients.map(({ id, address }) => ({ recipientId: id, address })),
  },
  messageId: accepted.internetMessageId,
  body,
  ...(typeof body.unsubscribe === 'object' ? { unsubscribe: body.unsubscribe } : {}),
  date: new Date(acceptedAt),
  attempt: 1,
});

/** The source of a message, some 64 kB at a time. */
export const sourceOf = (
  { deps: { messageSources } }: RouteContext,
  { message, body }: { readonly message: ExistingMessage; readonly body: MessageBody },
): Promise<Iterable<Uint8Array>> => messageSources.of(mailOf(message, body));

const MEDIA_TYPE = 'message/rfc822';

export const getRawMessageRoute = endpoint(
  'GET /v1/messages/:id/raw',
  {
    summary: 'Get the source of a message',
    description:
      'Returns the message as a file (RFC 5322 with MIME). Parts that differ between copies are missing: DKIM signatures, ' +
      'tracking, managed unsubscribe links and `Feedback-ID`. No copy contains `Bcc` recipients. Reading the source is ' +
      'recorded in the audit log.',
    answer: z.string(),
    mediaType: MEDIA_TYPE,
    large: true,
  },
  async (call, route) => {
    const source = await sourceOf(route, await readContent(call, route));
    call.reply
      .type(MEDIA_TYPE)
      .header('content-disposition', `attachment; filename="${call.id}.eml"`)
      .header('content-security-policy', "sandbox; default-src 'none'");
    return Readable.from(source, { objectMode: false });
  },
);
