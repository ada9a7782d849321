import { z } from 'zod';
import type { SentMessage } from '../../commands/message/send-message.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { MessageBody } from '../../domain/ports/contents.ts';
import type { JsonBounds } from '../bodies/bounded-json.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { refusalAnswer } from '../errors/error-response.ts';
import type { SerializedMessage } from '../resources/messages/message.ts';
import { readContent, serializeCurrent, sourceOf } from '../resources/messages/messages.ts';
import { BATCH_BOUNDS, BATCH_DEADLINE_MS } from '../resources/messages/send-batch.ts';
import { SEND_BOUNDS } from '../resources/messages/send-message.ts';
import { type Fields, mailboxText } from './fields.ts';
import { POSTMARK_NAMES, translateEmail, translateTemplated } from './postmark-fields.ts';
import { requireMessages, requireObject, sendMany, sendOne, type Translate } from './translate.ts';
import { postmarkError } from './vendors.ts';

/**
 * Endpoints for the npm package `postmark` (version 5):
 * `new ServerClient(key, { requestHost: '<this service>/compat/postmark', useHttps })`. The key comes in a header of its own.
 */

/** Echoes a field of the request, or null if it is absent. */
const asked = (sent: unknown, name: 'To' | 'Cc' | 'Bcc'): Fields => {
  const value = typeof sent === 'object' && sent !== null ? Reflect.get(sent, name) : undefined;
  return typeof value === 'string' && value !== '' ? { [name]: value } : {};
};

const serializeSent = ({ message }: SentMessage, sent: unknown) => ({
  ...asked(sent, 'To'),
  ...asked(sent, 'Cc'),
  ...asked(sent, 'Bcc'),
  SubmittedAt: message.acceptedAt,
  MessageID: message.accepted.messageId,
  ErrorCode: 0,
  Message: 'OK',
});

export const sendPostmarkEmailRoute = endpoint(
  'POST /compat/postmark/email',
  {
    summary: 'sendEmail',
    body: z.unknown(),
    bounds: { ...SEND_BOUNDS, joinsLines: true, contentsAt: ['Attachments', null, 'Content'] },
  },
  async (call, route) =>
    serializeSent(await sendOne(route, call, { translate: translateEmail, names: POSTMARK_NAMES }), call.body),
);

export const sendPostmarkTemplateRoute = endpoint(
  'POST /compat/postmark/email/withTemplate',
  {
    summary: 'sendEmailWithTemplate',
    body: z.unknown(),
    bounds: { ...SEND_BOUNDS, joinsLines: true, contentsAt: ['Attachments', null, 'Content'] },
  },
  async (call, route) =>
    serializeSent(await sendOne(route, call, { translate: translateTemplated, names: POSTMARK_NAMES }), call.body),
);

const batchBounds = (before: readonly (string | null)[]): JsonBounds => ({
  ...BATCH_BOUNDS,
  joinsLines: true,
  contentsAt: [...before, null, 'Attachments', null, 'Content'],
});

/** Returns one result per message, in the order of the request. */
const sendEach = async (
  route: RouteContext,
  call: Call<unknown, unknown>,
  { messages, translate }: { readonly messages: readonly unknown[]; readonly translate: Translate },
): Promise<readonly object[]> => {
  const placeOf = (index: number): string => `[${index}].`;
  const sent = await sendMany(route, call, { messages, strict: false, translate, names: POSTMARK_NAMES, placeOf });
  return sent.map((one, index) =>
    one instanceof DomainError
      ? { ...postmarkError(refusalAnswer(one).body.error).body, ...asked(messages[index], 'To') }
      : serializeSent(one, messages[index]),
  );
};

export const sendPostmarkBatchRoute = endpoint(
  'POST /compat/postmark/email/batch',
  { summary: 'sendEmailBatch', body: z.unknown(), bounds: batchBounds([]), deadlineMs: BATCH_DEADLINE_MS },
  (call, route) => sendEach(route, call, { messages: requireMessages(call.body, 'body'), translate: translateEmail }),
);

export const sendPostmarkTemplateBatchRoute = endpoint(
  'POST /compat/postmark/email/batchWithTemplates',
  {
    summary: 'sendEmailBatchWithTemplates',
    body: z.unknown(),
    bounds: batchBounds(['Messages']),
    deadlineMs: BATCH_DEADLINE_MS,
  },
  (call, route) => {
    const { Messages, ...more } = requireObject(call.body);
    const [unknown] = Object.keys(more);
    if (unknown !== undefined) {
      const problem = `${unknown} is not a known field`;
      throw new DomainError('invalid_request', problem, { details: { [unknown]: [problem] } });
    }
    return sendEach(route, call, { messages: requireMessages(Messages, 'Messages'), translate: translateTemplated });
  },
);

type SerializedRecipient = SerializedMessage['recipients'][number];

/** The event for a recipient's current status; null: no event yet. */
const eventOf = ({ address, status, smtp, reason, updated_at: ReceivedAt }: SerializedRecipient): object | null => {
  const of = { Recipient: address ?? '', ReceivedAt };
  const reply = smtp?.text ?? reason ?? '';
  const Details = { DeliveryMessage: reply, DestinationServer: smtp?.mx ?? '', DestinationIP: '' };
  if (status === 'delivered') return { ...of, Type: 'Delivered', Details };
  if (status === 'deferred') return { ...of, Type: 'Transient', Details };
  return status === 'bounced' ? { ...of, Type: 'Bounced', Details: { Summary: reply, BounceID: 0 } } : null;
};

const OPEN: ReadonlySet<string> = new Set(['accepted', 'scheduled', 'deferred']);

const recipientsOf = ({ recipients }: MessageBody, kind: 'to' | 'cc' | 'bcc') =>
  recipients.flatMap((one) => (one.kind === kind ? [{ Email: one.address, Name: one.name ?? null }] : []));

const linksOf = ({ tracking }: SerializedMessage): string => (tracking.clicks ? 'HtmlOnly' : 'None');

const serializeDetails = (message: SerializedMessage, body: MessageBody, source: string | null) => ({
  MessageID: message.id,
  Tag: message.tags.find(({ name }) => name === 'tag')?.value ?? '',
  To: recipientsOf(body, 'to'),
  Cc: recipientsOf(body, 'cc'),
  Bcc: recipientsOf(body, 'bcc'),
  Recipients: body.recipients.map(({ address }) => address),
  ReceivedAt: message.created_at,
  From: mailboxText(body.from.address, body.from.name),
  Subject: body.subject,
  Attachments: body.attachments.map(({ filename }) => filename),
  Status: OPEN.has(message.status) ? 'Queued' : 'Sent',
  TrackOpens: message.tracking.opens,
  TrackLinks: linksOf(message),
  Metadata: message.metadata,
  MessageStream: message.stream === 'bulk' ? 'broadcast' : 'outbound',
  Sandboxed: message.environment === 'test',
  TextBody: body.text ?? '',
  HtmlBody: body.html ?? '',
  Body: source ?? '',
  MessageEvents: message.recipients.map(eventOf).filter((event) => event !== null),
});

/** Held whole in memory, and once more as JSON. Larger ones are streamed by our own route. */
const SOURCE_BYTES_MAX = 2_000_000;

/** null: it is larger than is held in memory. */
const smallSource = async (
  route: RouteContext,
  read: Awaited<ReturnType<typeof readContent>>,
): Promise<string | null> => {
  if (read.message.accepted.sizeBytes > SOURCE_BYTES_MAX) return null;
  return Buffer.concat([...(await sourceOf(route, read))]).toString('utf8');
};

export const getPostmarkDetailsRoute = endpoint(
  'GET /compat/postmark/messages/outbound/:id/details',
  { summary: 'getOutboundMessageDetails', large: true },
  async (call, route) => {
    const read = await readContent(call, route);
    const message = await serializeCurrent(route.deps, read.message);
    return serializeDetails(message, read.body, await smallSource(route, read));
  },
);

export const getPostmarkDumpRoute = endpoint(
  'GET /compat/postmark/messages/outbound/:id/dump',
  { summary: 'getOutboundMessageDump', large: true },
  async (call, route) => {
    const Body = await smallSource(route, await readContent(call, route));
    if (Body !== null) return { Body };
    throw new DomainError(
      'body_too_large',
      `the message is larger than ${SOURCE_BYTES_MAX} bytes: read it with GET /v1/messages/${call.id}/raw`,
    );
  },
);
