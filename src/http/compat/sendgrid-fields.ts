import { isSent } from '../resources/messages/send-body.ts';
import {
  as,
  type FieldRule,
  type FieldRules,
  listOf,
  mailboxText,
  refused,
  refusedUnless,
  type TranslatedFields,
  takeDisposition,
  takeFields,
  withDisposition,
} from './fields.ts';
import type { PathNames } from './translate.ts';

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
    ? refused('must be text/plain or text/html: attach other files')(one, `${path}.type`)
    : { fields: { [name]: one.value } };
};

/** Each type stands once. */
const PARTS_MAX = 2;

/** Text and html, each once. */
const takeContent: FieldRule = (value, path) => {
  if (!Array.isArray(value)) return refused('must be an array')(value, path);
  if (value.length > PARTS_MAX) return refused('must have at most text/plain and text/html, each once')(value, path);
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

const LIST_REMEDY = 'is not offered: suppressions always count';

const MAIL_SETTINGS: FieldRules = {
  sandbox_mode: refusedUnless(isOff, 'is not offered: a key that begins with ob_test_ sends nothing'),
  bypass_list_management: refusedUnless(isOff, LIST_REMEDY),
  bypass_spam_management: refusedUnless(isOff, LIST_REMEDY),
  bypass_bounce_management: refusedUnless(isOff, LIST_REMEDY),
  bypass_unsubscribe_management: refusedUnless(isOff, LIST_REMEDY),
  footer: refusedUnless(isOff, 'is not offered: write it into the content, or use a layout of templates'),
  bcc: refusedUnless(isOff, 'is not offered: name the address in bcc of the personalization'),
  spam_check: refusedUnless(isOff, 'is not offered: see POST /v1/messages/analyze'),
};

const TRACKING_SETTINGS: FieldRules = {
  click_tracking: tracked('clicks', {
    enable_text: refusedUnless((value) => value === false, 'must be false: links of the text stay as they are'),
  }),
  open_tracking: tracked('opens', {
    substitution_tag: refused('is not offered: the image stands at the end of the html'),
  }),
  subscription_tracking: refusedUnless(isOff, 'is not offered: set the header List-Unsubscribe'),
  ganalytics: refusedUnless(isOff, 'is not offered: write utm_ parameters into the links'),
};

const SUBSTITUTIONS_REMEDY = 'is not offered: use template_id with dynamic_template_data';

/** Rules for the fields that all messages of a request share. */
export const SHARED: FieldRules = {
  from: mailbox('from'),
  subject: as('subject'),
  content: takeContent,
  attachments: listOf('attachments', ATTACHMENT, withDisposition),
  template_id: (value) => ({ fields: { template: { id: value } } }),
  headers: as('headers'),
  categories: takeCategories,
  custom_args: as('metadata'),
  send_at: takeSendAt,
  reply_to: mailbox('reply_to'),
  reply_to_list: mailboxes('reply_to'),
  mail_settings: inside(MAIL_SETTINGS),
  tracking_settings: inside(TRACKING_SETTINGS),
  sections: refused(SUBSTITUTIONS_REMEDY),
  asm: refused('is not offered: use a topic with POST /v1/messages/send, or set the header List-Unsubscribe'),
  ip_pool_name: refused('is not offered: the sending addresses belong to the operator'),
  batch_id: refused('is not offered: cancel messages with POST /v1/messages/cancel, by a tag or by their ids'),
};

/** Rules for the fields of one message. */
export const PERSONALIZATION: FieldRules = {
  from: mailbox('from'),
  to: mailboxes('to'),
  cc: mailboxes('cc'),
  bcc: mailboxes('bcc'),
  subject: as('subject'),
  headers: as('headers'),
  custom_args: as('metadata'),
  send_at: takeSendAt,
  substitutions: refused(SUBSTITUTIONS_REMEDY),
  dynamic_template_data: (value) => ({ fields: { template: { variables: value } } }),
};

export const SENDGRID_NAMES: PathNames = {
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
