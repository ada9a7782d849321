import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import { endpoint } from '../endpoint.ts';
import { BATCH_BOUNDS, BATCH_DEADLINE_MS } from '../resources/messages/send-batch.ts';
import { isSent } from '../resources/messages/send-body.ts';
import { SEND_BYTES_MAX, SEND_REST_BYTES_MAX } from '../resources/messages/send-message.ts';
import {
  as,
  type FieldRule,
  type FieldRules,
  type Fields,
  listOf,
  mailboxText,
  type PathNames,
  refused,
  refusedUnless,
  requireMessages,
  requireNone,
  requireObject,
  sendMany,
  type TranslatedFields,
  takeDisposition,
  takeFields,
  withDisposition,
} from './translate.ts';

/** Fields of messages of SendGrid. */

const MAILBOX_FIELDS: FieldRules = { email: as('email'), name: as('name') };

/** A mailbox as text. Other values are kept, and the validation reports them. */
const mailboxOf = (
  value: unknown,
  path: string,
): { readonly text: unknown } & Pick<Required<TranslatedFields>, 'problems'> => {
  if (!isSent(value)) return { text: value, problems: [] };
  const { fields, problems } = takeFields(value, MAILBOX_FIELDS, `${path}.`);
  const { email, name } = fields;
  if (name !== undefined && typeof name !== 'string')
    return {
      text: email,
      problems: [...problems, ...(refused('must be a string')(name, `${path}.name`).problems ?? [])],
    };
  return { text: typeof email === 'string' ? mailboxText(email, name) : email, problems };
};

const mailbox =
  (name: string): FieldRule =>
  (value, path) => {
    const { text, problems } = mailboxOf(value, path);
    return { fields: { [name]: text }, problems };
  };

/** Longest list that our API accepts. */
const MAILBOXES_MAX = 100;

const mailboxes =
  (name: string): FieldRule =>
  (value, path) => {
    if (!Array.isArray(value)) return refused('must be an array')(value, path);
    if (value.length > MAILBOXES_MAX) return refused(`must have at most ${MAILBOXES_MAX} items`)(value, path);
    const read = value.map((one: unknown, index) => mailboxOf(one, `${path}[${index}]`));
    return { fields: { [name]: read.map(({ text }) => text) }, problems: read.flatMap(({ problems }) => problems) };
  };

const ATTACHMENT: FieldRules = {
  content: as('content'),
  filename: as('filename'),
  type: as('content_type'),
  content_id: as('content_id'),
  // Its client writes it so in attachments, whose names it leaves as they are.
  contentId: as('content_id'),
  disposition: takeDisposition,
};

const PARTS: Readonly<Record<string, string>> = { 'text/plain': 'text', 'text/html': 'html' };

const isPart = (one: unknown): one is { readonly type: unknown; readonly value: unknown } =>
  isSent(one) && 'type' in one && 'value' in one;

const takePart = (one: unknown, path: string): TranslatedFields => {
  if (!isPart(one)) return refused('must be an object with type and value')(one, path);
  const name = typeof one.type === 'string' && Object.hasOwn(PARTS, one.type) ? PARTS[one.type] : undefined;
  return name === undefined
    ? refused('must be text/plain or text/html: send other types as attachments')(one, `${path}.type`)
    : { fields: { [name]: one.value } };
};

/** Each type stands once. */
const PARTS_MAX = 2;

/** Text and html, each once. */
const takeContent: FieldRule = (value, path) => {
  if (!Array.isArray(value)) return refused('must be an array')(value, path);
  if (value.length > PARTS_MAX) return refused('must contain text/plain and text/html at most once each')(value, path);
  const [first = {}, second = {}] = value.map((one: unknown, index) => takePart(one, `${path}[${index}]`));
  const [name] = Object.keys(second.fields ?? {});
  if (name !== undefined && name in (first.fields ?? {})) return refused('is given twice')(value, `${path}[1].type`);
  return {
    fields: { ...first.fields, ...second.fields },
    problems: [...(first.problems ?? []), ...(second.problems ?? [])],
  };
};

const MS_PER_SECOND = 1_000;
/** Within the years of four digits. */
const SECONDS_MAX = 253_402_300_799;

/** Seconds since 1970. */
const takeSendAt: FieldRule = (value, path) =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= SECONDS_MAX
    ? { fields: { scheduled_at: new Date(Number(value) * MS_PER_SECOND).toISOString() } }
    : refused('must be a whole number of seconds since 1970')(value, path);

const takeCategories: FieldRule = (value) => ({
  fields: {
    tags: Array.isArray(value) ? value.map((one: unknown) => ({ name: 'category', value: one })) : value,
  },
});

const isOff = (value: unknown): boolean => isSent(value) && value.enable === false;

const tracked =
  (name: 'opens' | 'clicks', more: FieldRules): FieldRule =>
  (value, path) => {
    if (!isSent(value)) return refused('must be an object')(value, path);
    const { fields, problems } = takeFields(value, { enable: as(name), ...more }, `${path}.`);
    return { fields: { tracking: fields }, problems };
  };

const inside =
  (rules: FieldRules): FieldRule =>
  (value, path) =>
    isSent(value) ? takeFields(value, rules, `${path}.`) : refused('must be an object')(value, path);

const LIST_REMEDY = 'is not supported: suppressions always apply';

const MAIL_SETTINGS: FieldRules = {
  sandbox_mode: refusedUnless(isOff, 'is not supported: use a test key (ob_test_…), which sends nothing'),
  bypass_list_management: refusedUnless(isOff, LIST_REMEDY),
  bypass_spam_management: refusedUnless(isOff, LIST_REMEDY),
  bypass_bounce_management: refusedUnless(isOff, LIST_REMEDY),
  bypass_unsubscribe_management: refusedUnless(isOff, LIST_REMEDY),
  footer: refusedUnless(isOff, 'is not supported: add it to the content, or use a template with a layout'),
  bcc: refusedUnless(isOff, 'is not supported: add the address to bcc of the personalization'),
  spam_check: refusedUnless(isOff, 'is not supported: use POST /v1/messages/analyze'),
};

const TRACKING_SETTINGS: FieldRules = {
  click_tracking: tracked('clicks', {
    enable_text: refusedUnless((value) => value === false, 'must be false: links in the text cannot be tracked'),
  }),
  open_tracking: tracked('opens', {
    substitution_tag: refused('is not supported: the image is added at the end of the html'),
  }),
  subscription_tracking: refusedUnless(isOff, 'is not supported: set the header List-Unsubscribe'),
  ganalytics: refusedUnless(isOff, 'is not supported: add utm_ parameters to the links'),
};

const SUBSTITUTIONS_REMEDY = 'is not supported: use template_id with dynamic_template_data';

/** The service writes this header, and `nodemailer-sendgrid` always sends one. */
const MESSAGE_ID = 'message-id';

const takeHeaders: FieldRule = (value) => ({
  fields: {
    headers: isSent(value)
      ? Object.fromEntries(Object.entries(value).filter(([name]) => name.toLowerCase() !== MESSAGE_ID))
      : value,
  },
});

/** Rules for the fields that all messages of a request share. */
const SHARED: FieldRules = {
  from: mailbox('from'),
  subject: as('subject'),
  content: takeContent,
  attachments: listOf('attachments', ATTACHMENT, withDisposition),
  template_id: (value) => ({ fields: { template: { id: value } } }),
  headers: takeHeaders,
  categories: takeCategories,
  custom_args: as('metadata'),
  send_at: takeSendAt,
  reply_to: mailbox('reply_to'),
  reply_to_list: mailboxes('reply_to'),
  mail_settings: inside(MAIL_SETTINGS),
  tracking_settings: inside(TRACKING_SETTINGS),
  sections: refused(SUBSTITUTIONS_REMEDY),
  asm: refused('is not supported: use a topic with POST /v1/messages/send, or set the header List-Unsubscribe'),
  ip_pool_name: refused('is not supported: the operator of the service manages the sending addresses'),
  batch_id: refused('is not supported: cancel messages by tag or id with POST /v1/messages/cancel'),
};

/** Rules for the fields of one message. */
const PERSONALIZATION: FieldRules = {
  from: mailbox('from'),
  to: mailboxes('to'),
  cc: mailboxes('cc'),
  bcc: mailboxes('bcc'),
  subject: as('subject'),
  headers: takeHeaders,
  custom_args: as('metadata'),
  send_at: takeSendAt,
  substitutions: refused(SUBSTITUTIONS_REMEDY),
  dynamic_template_data: (value) => ({ fields: { template: { variables: value } } }),
};

const SENDGRID_NAMES: PathNames = {
  'to[]': 'to[].email',
  'cc[]': 'cc[].email',
  'bcc[]': 'bcc[].email',
  from: 'from.email',
  'reply_to[]': 'reply_to_list[].email',
  html: 'content',
  text: 'content',
  'attachments[].content_type': 'attachments[].type',
  tags: 'categories',
  'tags[]': 'categories[]',
  'tags[].value': 'categories[]',
  metadata: 'custom_args',
  scheduled_at: 'send_at',
  tracking: 'tracking_settings',
  'tracking.opens': 'tracking_settings.open_tracking.enable',
  'tracking.clicks': 'tracking_settings.click_tracking.enable',
  template: 'template_id',
  'template.id': 'template_id',
  'template.variables': 'dynamic_template_data',
};

/**
 * Endpoint for the npm package `@sendgrid/mail` (version 8): `client.setDefaultRequest('baseUrl', '<this service>/compat/sendgrid/')`
 * after `setApiKey`. Each personalization is one message; either all of them are accepted or none.
 */

/** A personalization's fields take precedence over shared ones; headers and arguments are merged. */
const combined = (shared: Fields, own: Fields): Fields => ({
  ...shared,
  ...own,
  ...Object.fromEntries(
    ['headers', 'metadata', 'template'].flatMap((name) => {
      const [all, one] = [shared[name], own[name]];
      return isSent(all) && isSent(one) ? [[name, { ...all, ...one }]] : [];
    }),
  ),
});

/** Total length of all texts and names in a value, whose depth and size were bounded when it was read. */
const charactersIn = (value: unknown): number => {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, one]) => sum + name.length + charactersIn(one), 0);
};

const filesIn = ({ attachments }: Fields): number =>
  Array.isArray(attachments)
    ? attachments.reduce<number>((sum, one) => sum + (isSent(one) ? charactersIn(one.content) : 0), 0)
    : 0;

/** One body makes many messages, each of which is stored: no more than a batch of ours may hold. @throws {DomainError} `body_too_large`. */
const requireSmall = (shared: Fields, count: number): void => {
  const all = charactersIn(shared) * count;
  const rest = all - filesIn(shared) * count;
  if (count === 1 || (all <= SEND_BYTES_MAX && rest <= SEND_REST_BYTES_MAX)) return;
  throw new DomainError(
    'body_too_large',
    `content and attachments for ${count} personalizations are larger than ${SEND_BYTES_MAX} bytes, or ${SEND_REST_BYTES_MAX} without attachments: send fewer in one request`,
  );
};

const MESSAGE_ID_HEADER = 'x-message-id';

export const sendSendgridMailRoute = endpoint(
  'POST /compat/sendgrid/v3/mail/send',
  {
    summary: 'send',
    body: z.unknown(),
    bounds: { ...BATCH_BOUNDS, joinsLines: true, contentsAt: ['attachments', null, 'content'] },
    deadlineMs: BATCH_DEADLINE_MS,
  },
  async (call, route) => {
    const { personalizations, ...rest } = requireObject(call.body);
    const people = requireMessages(personalizations, 'personalizations');
    requireSmall(rest, people.length);
    const shared = takeFields(rest, SHARED);
    requireNone(shared.problems);
    const sent = await sendMany(route, call, {
      // Store each message as if it had been sent in a request of its own.
      messages: people.map((one) => (isSent(one) ? { ...rest, personalizations: [one] } : one)),
      strict: true,
      translate: (_, index) => {
        const own = takeFields(people[index] as Fields, PERSONALIZATION); // it is an object: it was translated into one
        return { fields: combined(shared.fields, own.fields), problems: own.problems };
      },
      names: SENDGRID_NAMES,
      placeOf: (index, field) => {
        const [name = ''] = field.split(/[.[]/, 1);
        const own = people[index];
        const isOnlyShared = Object.hasOwn(SHARED, name) && !Object.hasOwn(PERSONALIZATION, name);
        const isShared = (isOnlyShared || Object.hasOwn(rest, name)) && !(isSent(own) && Object.hasOwn(own, name));
        return isShared ? '' : `personalizations[${index}].`;
      },
    });
    const [first] = sent;
    if (first !== undefined && !(first instanceof DomainError))
      call.reply.header(MESSAGE_ID_HEADER, first.message.accepted.messageId);
  },
);
