import { aliasOf } from '../../domain/template/template.ts';
import {
  as,
  type FieldRule,
  type FieldRules,
  type Fields,
  ignored,
  listOf,
  refused,
  refusedUnless,
  type TranslatedFields,
  takeDisposition,
  takeFields,
  withDisposition,
} from './fields.ts';
import type { PathNames, Translate } from './translate.ts';

/** Fields of messages of Postmark. */

/** Fifty addresses of the greatest length with names. Longer text is for the validation to refuse. */
const LIST_CHARACTERS_MAX = 30_000;
/** A quoted string, whether it ends or not, a comma, or what is neither (RFC 5322 §3.4). */
const PARTS = /"(?:[^"\\]|\\.?)*(?:"|$)|,|[^",]+/gsu;

/** Mailboxes that commas divide, but for those in quotes. */
const divided = (text: string): readonly string[] => {
  const each = [''];
  for (const part of text.match(PARTS) ?? []) {
    if (part === ',') each.push('');
    else each.push((each.pop() ?? '') + part);
  }
  return each.map((one) => one.trim()).filter((one) => one !== '');
};

/** Several mailboxes in one string, as in a header. An empty string is an empty list. */
const mailboxList =
  (name: string): FieldRule =>
  (value) => {
    if (typeof value !== 'string' || value.length > LIST_CHARACTERS_MAX) return { fields: { [name]: value } };
    const each = divided(value);
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
  return refused('must be outbound or broadcast: other streams are keys and domains here')(value, path);
};

const LINKS: Readonly<Record<string, boolean>> = { None: false, HtmlOnly: true };

const takeLinks: FieldRule = (value, path) => {
  const clicks = typeof value === 'string' && Object.hasOwn(LINKS, value) ? LINKS[value] : undefined;
  if (clicks !== undefined) return { fields: { tracking: { clicks } } };
  return refused('must be HtmlOnly or None: links of the text stay as they are')(value, path);
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
  InlineCss: refusedUnless((value) => value === true, 'is decided when a template is published: set its inline_css'),
};

export const POSTMARK_NAMES: PathNames = {
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

export const translateEmail: Translate = (sent) => completed(takeFields(sent, FIELDS));

export const translateTemplated: Translate = (sent) => {
  const { fields, problems } = takeFields(sent, TEMPLATE_FIELDS);
  const both = sent.TemplateId != null && sent.TemplateAlias != null;
  return completed({
    fields: fields.template === undefined ? { ...fields, template: {} } : fields,
    problems: both ? [...problems, ['TemplateAlias', 'TemplateAlias is not allowed beside TemplateId']] : problems,
  });
};
