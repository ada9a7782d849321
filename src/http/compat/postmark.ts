import { z } from 'zod';
import type { SentMessage } from '../../commands/message/send-message.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { MessageBody } from '../../domain/ports/contents.ts';
import { aliasOf } from '../../domain/template/template.ts';
import type { JsonBounds } from '../../lib/http/http.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { refusalAnswer } from '../errors.ts';
import type { SerializedMessage } from '../resources/messages/message.ts';
import { readContent, serializeCurrent, sourceOf } from '../resources/messages/messages.ts';
import { BATCH_BOUNDS, BATCH_DEADLINE_MS } from '../resources/messages/send-batch.ts';
import { SEND_BOUNDS } from '../resources/messages/send-message.ts';
import {
  as,
  type FieldRule,
  type FieldRules,
  type Fields,
  ignored,
  listOf,
  MAILBOXES_CHARACTERS_MAX,
  mailboxesIn,
  mailboxText,
  type PathNames,
  refused,
  refusedUnless,
  requireMessages,
  requireObject,
  sendMany,
  sendOne,
  type Translate,
  type TranslatedFields,
  takeDisposition,
  takeFields,
  withDisposition,
} from './translate.ts';
import { postmarkError } from './vendors.ts';

/** Fields of messages of Postmark. */

/** Several mailboxes in one string, as in a header. An empty string is an empty list. */
const mailboxList =
  (name: string): FieldRule =>
  (value) => {
    if (typeof value !== 'string' || value.length > MAILBOXES_CHARACTERS_MAX) return { fields: { [name]: value } };
    const each = mailboxesIn(value);
    return each.length === 0 && name !== 'to' ? {} : { fields: { [name]: each } };
  };

const CONTENT_ID = /^cid:/;

const ATTACHMENT: FieldRules = {
  Name: as('filename'),
  Content: as('content'),
  ContentType: as('content_type'),
  ContentID: (value) => ({ fields: { content_id: typeof value === 'string' ? value.replace(CONTENT_ID, '') : value } }),
  ContentLength: ignored, // it follows from what the file holds
  Disposition: takeDisposition,
};

const HEADERS_MAX = 50;
/** Assigning it to an object changes its prototype. */
const PROTOTYPE = '__proto__';

const isHeader = (one: unknown): one is { readonly Name: string; readonly Value: unknown } =>
  typeof one === 'object' && one !== null && 'Name' in one && typeof one.Name === 'string' && 'Value' in one;

const takeHeader = (one: unknown, known: ReadonlySet<string>, path: string): TranslatedFields => {
  if (!isHeader(one)) return refused('must be an object with Name and Value')(one, path);
  if (one.Name === PROTOTYPE) return refused('is not a header name')(one, `${path}.Name`);
  if (known.has(one.Name)) return refused('is given twice')(one, `${path}.Name`);
  return { fields: { [one.Name]: one.Value } };
};

/** A list of names and values; a name stands once. */
const takeHeaders: FieldRule = (value, path) => {
  if (!Array.isArray(value)) return refused('must be an array of objects with Name and Value')(value, path);
  if (value.length > HEADERS_MAX) return refused(`must have at most ${HEADERS_MAX} items`)(value, path);
  const known = new Set<string>();
  const pairs = value.map((one: unknown, index) => {
    const pair = takeHeader(one, known, `${path}[${index}]`);
    if (isHeader(one)) known.add(one.Name);
    return pair;
  });
  return {
    fields: { headers: Object.assign({}, ...pairs.map(({ fields }) => fields)) },
    problems: pairs.flatMap(({ problems = [] }) => problems),
  };
};

const STREAMS: Readonly<Record<string, Fields>> = {
  outbound: { stream: 'transactional' },
  broadcast: { stream: 'bulk' },
};

const takeStream: FieldRule = (value, path) => {
  const fields = typeof value === 'string' && Object.hasOwn(STREAMS, value) ? STREAMS[value] : undefined;
  if (fields !== undefined) return { fields };
  return refused('must be outbound or broadcast. Instead of other streams, use a key and a domain for each')(
    value,
    path,
  );
};

const LINKS: Readonly<Record<string, boolean>> = { None: false, HtmlOnly: true };

const takeLinks: FieldRule = (value, path) => {
  const clicks = typeof value === 'string' && Object.hasOwn(LINKS, value) ? LINKS[value] : undefined;
  if (clicks !== undefined) return { fields: { tracking: { clicks } } };
  return refused('must be HtmlOnly or None: links in the text cannot be tracked')(value, path);
};

const COMMON: FieldRules = {
  From: as('from'),
  To: mailboxList('to'),
  Cc: mailboxList('cc'),
  Bcc: mailboxList('bcc'),
  ReplyTo: mailboxList('reply_to'),
  Tag: (value) => (value === '' ? {} : { fields: { tags: [{ name: 'tag', value }] } }),
  Metadata: as('metadata'),
  Headers: takeHeaders,
  TrackOpens: (value) => ({ fields: { tracking: { opens: value } } }),
  TrackLinks: takeLinks,
  MessageStream: takeStream,
  Attachments: listOf('attachments', ATTACHMENT, withDisposition),
};

const FIELDS: FieldRules = { ...COMMON, Subject: as('subject'), HtmlBody: as('html'), TextBody: as('text') };

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);

const TEMPLATE_FIELDS: FieldRules = {
  ...COMMON,
  // Imported templates have these aliases.
  TemplateId: (value) => ({ fields: { template: { id: isNumber(value) ? String(value) : value } } }),
  TemplateAlias: (value) => ({ fields: { template: { id: typeof value === 'string' ? aliasOf(value) : value } } }),
  TemplateModel: (value) => ({ fields: { template: { variables: value } } }),
  InlineCss: refusedUnless((value) => value === true, 'is not supported per message: set inline_css of the template'),
};

const POSTMARK_NAMES: PathNames = {
  from: 'From',
  to: 'To',
  'to[]': 'To',
  cc: 'Cc',
  'cc[]': 'Cc',
  bcc: 'Bcc',
  'bcc[]': 'Bcc',
  reply_to: 'ReplyTo',
  'reply_to[]': 'ReplyTo',
  subject: 'Subject',
  html: 'HtmlBody',
  text: 'TextBody',
  tags: 'Tag',
  'tags[].value': 'Tag',
  metadata: 'Metadata',
  headers: 'Headers',
  'tracking.opens': 'TrackOpens',
  attachments: 'Attachments',
  'attachments[]': 'Attachments[]',
  'attachments[].filename': 'Attachments[].Name',
  'attachments[].content': 'Attachments[].Content',
  'attachments[].content_type': 'Attachments[].ContentType',
  'attachments[].content_id': 'Attachments[].ContentID',
  template: 'TemplateAlias',
  'template.id': 'TemplateAlias',
  'template.variables': 'TemplateModel',
};

/** A broadcast has its links to unsubscribe, unless the sender has others. */
const completed = ({ fields, problems }: ReturnType<Translate>): ReturnType<Translate> => {
  const { headers = {}, stream } = fields;
  const names = Object.keys(headers as object).map((name) => name.toLowerCase()); // made above
  const isManaged = stream === 'bulk' && !names.includes('list-unsubscribe');
  return { fields: isManaged ? { ...fields, unsubscribe: 'managed' } : fields, problems };
};

const translateEmail: Translate = (sent) => completed(takeFields(sent, FIELDS));

const translateTemplated: Translate = (sent) => {
  const { fields, problems } = takeFields(sent, TEMPLATE_FIELDS);
  const both = sent.TemplateId != null && sent.TemplateAlias != null;
  return completed({
    fields: fields.template === undefined ? { ...fields, template: {} } : fields,
    problems: both
      ? [...problems, ['TemplateAlias', 'TemplateAlias is not allowed together with TemplateId']]
      : problems,
  });
};

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

const sendPostmarkEmailRoute = endpoint(
  'POST /compat/postmark/email',
  {
    summary: 'sendEmail',
    body: z.unknown(),
    bounds: { ...SEND_BOUNDS, joinsLines: true, contentsAt: ['Attachments', null, 'Content'] },
  },
  async (call, route) =>
    serializeSent(await sendOne(route, call, { translate: translateEmail, names: POSTMARK_NAMES }), call.body),
);

const sendPostmarkTemplateRoute = endpoint(
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

const sendPostmarkBatchRoute = endpoint(
  'POST /compat/postmark/email/batch',
  { summary: 'sendEmailBatch', body: z.unknown(), bounds: batchBounds([]), deadlineMs: BATCH_DEADLINE_MS },
  (call, route) => sendEach(route, call, { messages: requireMessages(call.body, 'body'), translate: translateEmail }),
);

const sendPostmarkTemplateBatchRoute = endpoint(
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

const getPostmarkDetailsRoute = endpoint(
  'GET /compat/postmark/messages/outbound/:id/details',
  { summary: 'getOutboundMessageDetails', large: true },
  async (call, route) => {
    const read = await readContent(call, route);
    const message = await serializeCurrent(route.deps, read.message);
    return serializeDetails(message, read.body, await smallSource(route, read));
  },
);

const getPostmarkDumpRoute = endpoint(
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

/** All routes of this file, by the name of the operation. */
export const POSTMARK_ROUTES = {
  getPostmarkDetailsRoute,
  getPostmarkDumpRoute,
  sendPostmarkBatchRoute,
  sendPostmarkEmailRoute,
  sendPostmarkTemplateBatchRoute,
  sendPostmarkTemplateRoute,
};
