import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import { aliasOf } from '../../domain/template/template.ts';
import type { FormFile } from '../../lib/http/http.ts';
import { bodyOf } from '../bodies.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { isSent } from '../resources/messages/send-body.ts';
import { SEND_REST_BYTES_MAX } from '../resources/messages/send-message.ts';
import {
  as,
  type FieldRule,
  type FieldRules,
  type Fields,
  ignored,
  MAILBOXES_CHARACTERS_MAX,
  mailboxesIn,
  type PathNames,
  refused,
  refusedUnless,
  sendOne,
  type Translate,
  takeFields,
} from './translate.ts';

/**
 * Endpoint for the npm package `mailgun.js` (version 14): `new Mailgun(FormData).client({ username: 'api', key, url:
 * '<this service>/compat/mailgun' })`. Programs send forms, in which a field can be repeated.
 */

/** Values of a field: several if it is repeated. */
const valuesOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

const isText = (value: unknown): value is string => typeof value === 'string';

const mailboxes =
  (name: string): FieldRule =>
  (value) => {
    const texts = valuesOf(value).filter(isText);
    const isReadable = texts.length === valuesOf(value).length && texts.join('').length <= MAILBOXES_CHARACTERS_MAX;
    return { fields: { [name]: isReadable ? texts.flatMap(mailboxesIn) : value } };
  };

const SWITCHES: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

/** null: neither yes nor no. */
const switchOf = (value: unknown): boolean | null => {
  const text = String(value).toLowerCase();
  return Object.hasOwn(SWITCHES, text) ? (SWITCHES[text] ?? null) : null;
};

/** @param remedy says what to do instead. */
const onlyNo = (remedy: string): FieldRule => refusedUnless((value) => switchOf(value) === false, remedy);

/** `htmlonly` is what clicks always are here. */
const tracked =
  (...names: readonly ('opens' | 'clicks')[]): FieldRule =>
  (value, path) => {
    const on = value === 'htmlonly' ? true : switchOf(value);
    if (on === null) return refused('must be yes, no or htmlonly')(value, path);
    return { fields: { tracking: Object.fromEntries(names.map((name) => [name, on])) } };
  };

/** RFC 5322 §3.3, with the names of zones that programs write. */
const DATE = /^(?:[a-z]{3}, )?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d(?::\d\d)? (?:gmt|utc|ut|z|[+-]\d{4})$/i;

const takeDeliveryTime: FieldRule = (value, path) => {
  const at = isText(value) && DATE.test(value) ? new Date(value.replace(/ z$/i, ' GMT')) : null;
  if (at === null || Number.isNaN(at.getTime()))
    return refused('must be a date such as Fri, 14 Oct 2026 12:00:00 +0000')(value, path);
  return { fields: { scheduled_at: at.toISOString() } };
};

const isFile = (value: unknown): value is FormFile =>
  isSent(value) && isText(value.filename) && isText(value.content) && isText(value.contentType);

const attachmentOf = ({ filename, content, contentType }: FormFile, isInline: boolean): Fields => ({
  filename,
  content,
  ...(contentType === '' ? {} : { content_type: contentType }),
  ...(isInline ? { content_id: filename } : {}),
});

/** The html refers to an inline file by its name. */
const files =
  ({ isInline }: { readonly isInline: boolean }): FieldRule =>
  (value, path) => {
    const each = valuesOf(value);
    if (!each.every(isFile)) return refused('must be a file with a name: send multipart/form-data')(value, path);
    return { fields: { attachments: each.map((file) => attachmentOf(file, isInline)) } };
  };

const takeTags: FieldRule = (value) => ({
  fields: { tags: valuesOf(value).map((one) => ({ name: 'tag', value: one })) },
});

/** Variables of a template, as JSON. */
const takeVariables: FieldRule = (value, path) => {
  try {
    const variables: unknown = JSON.parse(isText(value) ? value : '');
    if (isSent(variables)) return { fields: { template: { variables } } };
  } catch {
    // It is refused below.
  }
  return refused('must be an object as JSON')(value, path);
};

const NOT_CHOSEN = 'is not supported: the operator of the service manages the sending addresses';

const FIELDS: FieldRules = {
  from: as('from'),
  to: mailboxes('to'),
  cc: mailboxes('cc'),
  bcc: mailboxes('bcc'),
  subject: as('subject'),
  text: as('text'),
  html: as('html'),
  attachment: files({ isInline: false }),
  inline: files({ isInline: true }),
  template: (value) => ({ fields: { template: { id: isText(value) ? aliasOf(value) : value } } }),
  't:variables': takeVariables,
  't:version': refused('is not supported: the published version is sent'),
  't:text': onlyNo('is not supported: write the text of the template'),
  'amp-html': refused('is not supported: send it in alternatives with POST /v1/messages/send'),
  'recipient-variables': refused('is not supported: send one message for each recipient with POST /v1/messages/batch'),
  'o:tag': takeTags,
  'o:tracking': tracked('opens', 'clicks'),
  'o:tracking-clicks': tracked('clicks'),
  'o:tracking-opens': tracked('opens'),
  'o:tracking-pixel-location-top': onlyNo('is not supported: the image is added at the end of the html'),
  'o:deliverytime': takeDeliveryTime,
  'o:deliverytime-optimize-period': refused('is not supported: set o:deliverytime'),
  'o:time-zone-localize': refused('is not supported: set o:deliverytime'),
  'o:testmode': onlyNo('is not supported: use a test key (ob_test_…), which sends nothing'),
  'o:dkim': refusedUnless((value) => switchOf(value) === true, 'must be yes: all mail is signed'),
  'o:require-tls': onlyNo('is not supported: receivers require TLS with MTA-STS or DANE'),
  'o:skip-verification': onlyNo('is not supported: certificates are checked as receivers ask'),
  'o:sending-ip': refused(NOT_CHOSEN),
  'o:sending-ip-pool': refused(NOT_CHOSEN),
  'h:X-Mailgun-Variables': takeVariables,
  'h:Reply-To': mailboxes('reply_to'),
  // The service writes this header.
  'h:Message-Id': ignored,
};

/** Names that begin so, in any number. */
const PREFIXES = { 'h:': 'headers', 'v:': 'metadata' } as const;
/** Assigning it to an object changes its prototype. */
const PROTOTYPE = '__proto__';

interface Prefixed {
  readonly name: string;
  readonly rest: string;
  readonly ours: 'headers' | 'metadata';
}

const prefixedIn = (sent: Fields): readonly Prefixed[] =>
  Object.entries(PREFIXES).flatMap(([prefix, ours]) =>
    Object.keys(sent).flatMap((name) =>
      name.startsWith(prefix) ? [{ name, rest: name.slice(prefix.length), ours }] : [],
    ),
  );

const ruleOf = ({ name, rest, ours }: Prefixed): FieldRule => {
  // Header names have no case.
  const known = Object.keys(FIELDS).find((one) => one.toLowerCase() === name.toLowerCase());
  if (ours === 'headers' && known !== undefined) return FIELDS[known] ?? ignored;
  if (rest === PROTOTYPE) return refused('is not a name');
  return (value) => ({ fields: { [ours]: { [rest]: value } } });
};

const TRACKING = 'o:tracking';

/** @param sent the form. Its `o:tracking` gives way to what it says about opens and clicks. */
const translate: Translate = (sent) => {
  const rules = { ...FIELDS, ...Object.fromEntries(prefixedIn(sent).map((one) => [one.name, ruleOf(one)])) };
  return takeFields({ [TRACKING]: sent[TRACKING], ...sent }, rules);
};

const NAMES: PathNames = {
  'to[]': 'to',
  'cc[]': 'cc',
  'bcc[]': 'bcc',
  reply_to: 'h:Reply-To',
  'reply_to[]': 'h:Reply-To',
  tags: 'o:tag',
  'tags[]': 'o:tag',
  'tags[].value': 'o:tag',
  scheduled_at: 'o:deliverytime',
  tracking: TRACKING,
  'template.id': 'template',
  'template.variables': 't:variables',
  attachments: 'attachment',
  'attachments[]': 'attachment',
  'attachments[].filename': 'attachment',
  'attachments[].content': 'attachment',
  'attachments[].content_type': 'attachment',
  'attachments[].content_id': 'inline',
};

const namesFor = (sent: Fields): PathNames => ({
  ...NAMES,
  ...Object.fromEntries(prefixedIn(sent).map(({ name, rest, ours }) => [`${ours}.${rest}`, name])),
});

/** Longer names are cut in errors. */
const SHOWN_CHARACTERS_MAX = 100;

/** The domain in the path. @throws {DomainError} `not_found`. */
export const domainIn = async ({ caller, request }: Call<unknown, unknown>, { auth: { keyCache } }: RouteContext) => {
  const { domain } = request.params as { readonly domain: string };
  const find = () => keyCache.domainNamed(caller.organizationId, domain.toLowerCase());
  const known = find();
  if (known !== undefined) return known;
  await keyCache.catchUp(); // it may have been added just now
  const found = find();
  if (found !== undefined) return found;
  throw new DomainError('not_found', `Domain not found: ${domain.slice(0, SHOWN_CHARACTERS_MAX)}`);
};

/**
 * Files as bytes, which are a third longer as base64: a message of 25 MB. A form is held as it was sent and once more as
 * files. Higher: memory that others wait for. Lower: mail is refused that SMTP accepts.
 */
const FORM_BYTES_MAX = 20_000_000;

/** Its client says that even an empty body is a form. */
export const NO_BODY = { ...bodyOf(1_000), takesForms: true };

export const sendMailgunMessageRoute = endpoint(
  'POST /compat/mailgun/v3/:domain/messages',
  {
    summary: 'messages.create',
    body: z.unknown(),
    bounds: { ...bodyOf(FORM_BYTES_MAX), restBytesMax: SEND_REST_BYTES_MAX, takesForms: true },
  },
  async (call, route) => {
    const { id, name } = await domainIn(call, route);
    if (id !== call.caller.domain.id)
      throw new DomainError(
        'from_domain_mismatch',
        `this API key sends from ${call.caller.domain.name}, not from ${name}`,
      );
    const names = isSent(call.body) ? namesFor(call.body) : NAMES;
    const { message } = await sendOne(route, call, { translate, names });
    return { id: message.accepted.internetMessageId, message: 'Queued. Thank you.' };
  },
);
