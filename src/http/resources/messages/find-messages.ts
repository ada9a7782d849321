import { z } from 'zod';
import { organizationSecret } from '../../../commands/organization.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { BOUNCE_CATEGORIES } from '../../../domain/bounce/categories.ts';
import { keyedDigest, metadataDigest, subjectDigest } from '../../../domain/kernel/digest.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { messageStream } from '../../../domain/kernel/streams.ts';
import { type ExistingMessage, message, messageStatus, RECIPIENT_STATUSES } from '../../../domain/message/message.ts';
import {
  addressTextDigests,
  addressWords,
  SUBJECT_WORDS_MAX,
  subjectWordDigests,
  subjectWords,
  tagWordDigest,
} from '../../../domain/message/search-words.ts';
import { templateIdOf } from '../../../domain/template/template.ts';
import { canonicalAddress, parseMailbox } from '../../../lib/mime/mime.ts';
import type { ListCursor, ListPage } from '../../../lib/projections/projections.ts';
import { MESSAGE_OUTCOMES, timedOutcome } from '../../../projections/messages/outcomes.ts';
import { type ListedMessage, templateLabel } from '../../../projections/messages/queries.ts';
import { PROVIDERS } from '../../../projections/stats/metrics.ts';
import { visibleDomainId } from '../../auth/permissions.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import {
  asOfFields,
  completeUntilField,
  consistencyParameter,
  idParameter,
  integerParameter,
  listOf,
  listSchema,
  NO_TEMPLATE,
  pageParameters,
  recipientDomain,
  tagParameter,
  timeParameter,
} from '../../fields.ts';
import { atParameter, cursorFrom, decodeCursor, encodeCursor, readWhatIs, routeAsOf, statesOf } from '../../reading.ts';
import { listedMessageSchema, listedRecipient, serializeListedMessage } from './message.ts';

/** Finds messages by their properties. */

/** Metadata; names with a colon cannot be searched. */
const METADATA = /^([^:]{1,10240}):(.{0,10240})$/su;
/** RFC 5322 §3.6.4; this service's begin with the message id. */
const MESSAGE_ID = /^<?(?<id>msg_[a-z2-7]{26})@(?<domain>[^\s<>@]+)>?$/;

const VERSION_MAX = 999_999_999;
const SECRETS_MAX = 999_999_999;
/** RFC 5322 §2.1.1, and quotes about it. */
const SUBJECT_CHARACTERS_MAX = 1000;
const WHOLE_SUBJECT = /^\s*"(?<text>.*)"\s*$/su;

/** RFC 5321 §4.5.3.1: a local part of 64, the @ and a domain of 255. */
const ADDRESS_CHARACTERS_MAX = 320;
const CONTROL = /\p{Cc}/u;

/** An address, or words that begin like those of an address or a name. */
type AddressFilter = { readonly exact: string } | { readonly words: string };

const address = () =>
  z
    .string()
    .max(ADDRESS_CHARACTERS_MAX)
    .refine(
      (text) => !CONTROL.test(text) && addressWords(text.slice(0, ADDRESS_CHARACTERS_MAX)).length > 0,
      'must be an email address, or a part of one with a letter or a digit',
    )
    .transform((text): AddressFilter => {
      const parsed = parseMailbox(text);
      return typeof parsed === 'string' ? { words: text } : { exact: canonicalAddress(parsed.address) };
    })
    .optional();

const BY_WORDS = `Part of an address or name: messages with words that begin with all of its words (\`ann smi\`, \
\`ann@exa\`), for as long as their contents are stored. Beginnings of words need at least three characters.`;

const TAG_CHARACTERS_MAX = 513;

/** `order:1234`, or a name or a value alone. */
type TagFilter = { readonly pair: string } | { readonly word: string };

const tag = () =>
  z
    .string()
    .min(1)
    .max(TAG_CHARACTERS_MAX)
    .transform((text, context): TagFilter => {
      if (!text.includes(':')) return { word: text };
      const { success, data } = tagParameter().safeParse(text);
      if (!success)
        context.addIssue({ code: 'custom', message: 'must be <name>:<value>, such as order:1234, or one of the two' });
      return { pair: data ?? '' };
    })
    .optional();

/** RFC 5321 §4.2, RFC 3463, or both as replies have them. */
const SMTP_CODE = /^(?<code>[2-5]\d\d)?(?: (?=[245]))?(?<enhanced>[245]\.\d{1,3}\.\d{1,3})?$/;

/** An exact address, for what cannot be undone. */
const exactAddress = () =>
  address().refine((filter) => filter === undefined || 'exact' in filter, 'is not an email address');

/** Filters that match only a whole address or tag: a typing error in a part could match everything. */
export const exactFilters = () => ({
  to: exactAddress().describe('Only messages to this address.'),
  from: exactAddress().describe('Only messages from this address.'),
  tag: tag()
    .refine((filter) => filter === undefined || 'pair' in filter, 'must be <name>:<value>, such as order:1234')
    .describe('Only messages with this tag: `order:1234`.'),
});

const BY_OUTCOME = `Only messages with a recipient that \`GET /v1/stats\` counts under this metric: the same recipient must also match \
\`recipient_domain\`, \`mailbox_provider\` and \`bounce_class\`. \`waiting\`: a recipient without a final outcome. \`deferred\`: deferred at \
least once, whatever followed. Test sends of templates are left out, as in statistics.`;

const BY_OUTCOME_TIME = `as \`GET /v1/stats\` counts them with \`attribution=event\`. The message whose outcome is the latest is first. Requires \`outcome\`, and not \`accepted\` (use \`since\`) or \`waiting\`. \`deferred\`, \`complained\`, \`unsubscribed\`, openings and clicks: the first time.`;

/** Filters of the list of messages. All are backed by indexes. */
export const messageFilters = () => ({
  status: z.enum(RECIPIENT_STATUSES).optional().describe('Only messages with this status.'),
  outcome: z.enum(MESSAGE_OUTCOMES).optional().describe(BY_OUTCOME),
  outcome_since: timeParameter()
    .optional()
    .describe(`Only messages with a recipient that had the \`outcome\` at or after this time, ${BY_OUTCOME_TIME}`),
  outcome_until: timeParameter()
    .optional()
    .describe(`Only messages with a recipient that had the \`outcome\` before this time, ${BY_OUTCOME_TIME}`),
  to: address().describe(`Only messages to this address. ${BY_WORDS}`),
  from: address().describe(`Only messages from this address. ${BY_WORDS}`),
  tag: tag().describe(
    'Only messages with this tag: `order:1234`. Without a colon: with a tag of this name or value, for as long as their contents are stored.',
  ),
  metadata: z
    .string()
    .refine((text) => METADATA.test(text), 'must be <name>:<value>, such as customer:42')
    .optional()
    .describe('Only messages with this metadata: `customer:42`.'),
  subject: z
    .string()
    .max(SUBJECT_CHARACTERS_MAX)
    .refine(
      (text) => WHOLE_SUBJECT.test(text) || subjectWords(text).length > 0,
      'must contain a word of two characters or more, or be a whole subject in double quotes',
    )
    .optional()
    .describe(
      `Words of the subject. All must occur, in any order and letter case. Only the first ${SUBJECT_WORDS_MAX} words of a \
subject can be found, for as long as its contents are stored. In double quotes: the whole subject, in any letter case \
and with any amount of white space.`,
    ),
  message_id: idParameter('internetMessage').describe(
    'Only the message with this `Message-ID`, with or without angle brackets.',
  ),
  key_id: idParameter('sender').describe('Only messages sent by this API key.'),
  secret: integerParameter(1, SECRETS_MAX)
    .optional()
    .describe('Only messages sent with this secret of `key_id`: its number, from 1.'),
  request_id: idParameter('request').describe(
    'Only messages sent by this request: the `X-Request-Id` of its response.',
  ),
  template_id: idParameter('template').describe(
    `Only messages rendered from this template, by id or alias. \`${NO_TEMPLATE}\`: from no template.`,
  ),
  template_version: integerParameter(1, VERSION_MAX)
    .optional()
    .describe('Only messages rendered from this version of `template_id`.'),
  domain_id: idParameter('domain').describe('Only messages from this sending domain, by id.'),
  since: timeParameter()
    .optional()
    .describe(
      'Only messages accepted at or after this time (ISO 8601), or from this day on (time zone of the organization).',
    ),
  until: timeParameter()
    .optional()
    .describe(
      'Only messages accepted before this time (ISO 8601), or before this day (time zone of the organization).',
    ),
  recipient_domain: recipientDomain().optional().describe('Only messages to this recipient domain.'),
  mailbox_provider: z
    .enum(PROVIDERS)
    .optional()
    .describe('Only messages to this mailbox provider, as `GET /v1/stats` counts them.'),
  stream: z.enum(['transactional', 'bulk']).optional().describe('Only transactional or only bulk mail.'),
  bounce_class: z
    .enum(BOUNCE_CATEGORIES)
    .optional()
    .describe('Only messages with a recipient that has this bounce category.'),
  smtp_code: z
    .string()
    .refine(
      (text) => text !== '' && SMTP_CODE.test(text),
      'must be an SMTP reply code, such as 550, 5.1.1 or 451 4.7.1',
    )
    .optional()
    .describe(
      'Only messages with a recipient that was bounced or deferred with this SMTP code: `550`, `5.1.1`, `451 4.7.1`.',
    ),
});

const filtersSchema = z.strictObject(messageFilters());
export type MessageFilters = z.output<typeof filtersSchema>;
export type MessageStatus = NonNullable<MessageFilters['status']>;
export type MailboxProvider = NonNullable<MessageFilters['mailbox_provider']>;
type Filters = MessageFilters & { readonly limit: number };

const codesIn = (text: string): readonly string[] => {
  const { code, enhanced } = SMTP_CODE.exec(text)?.groups ?? {};
  return [code, enhanced].filter((one) => one !== undefined);
};

/** Applies `make` to a given parameter. */
const orNull = <T, R>(value: T | undefined, make: (value: T) => R): R | null =>
  value === undefined ? null : make(value);

/** Splits `name:value`. */
const pairIn = (pattern: RegExp, text: string): readonly [name: string, value: string] => {
  const [, name = '', value = ''] = pattern.exec(text) ?? [];
  return [name, value];
};

const wholeSubjectIn = (subject = ''): string | undefined => WHOLE_SUBJECT.exec(subject)?.groups?.text;

const addressDigest = (secret: Uint8Array, filter: AddressFilter | undefined): string | null =>
  filter !== undefined && 'exact' in filter ? keyedDigest(secret, 'address', filter.exact) : null;

/** Digests of words in the vault, which all must match. */
const searchWordsOf = (secret: Uint8Array, { to, from, tag, subject = '' }: Filters): readonly string[] => [
  ...(wholeSubjectIn(subject) === undefined ? subjectWordDigests(secret, subject) : []),
  ...(to !== undefined && 'words' in to ? addressTextDigests(secret, 'to', to.words) : []),
  ...(from !== undefined && 'words' in from ? addressTextDigests(secret, 'from', from.words) : []),
  ...(tag !== undefined && 'word' in tag ? [tagWordDigest(secret, tag.word)] : []),
];

/** The read model holds only digests of addresses, tags, subjects and metadata. */
const digestsOf = (secret: Uint8Array, filters: Filters) => ({
  toDigest: addressDigest(secret, filters.to),
  fromDigest: addressDigest(secret, filters.from),
  tagDigest: orNull(filters.tag, (tag) => ('pair' in tag ? keyedDigest(secret, 'tag', tag.pair) : null)),
  metadataDigest: orNull(filters.metadata, (text) => metadataDigest(secret, ...pairIn(METADATA, text))),
  subjectDigest: orNull(wholeSubjectIn(filters.subject), (whole) => subjectDigest(secret, whole)),
  searchWords: searchWordsOf(secret, filters),
});

const templateOf = (organizationId: string, { template_id, template_version }: Filters): string | null => {
  if (template_id !== undefined && template_id !== NO_TEMPLATE)
    return templateLabel(templateIdOf(organizationId, template_id), template_version ?? null);
  if (template_version === undefined) return null;
  const problem = 'template_version requires the template_id of a template';
  throw new DomainError('invalid_request', problem, { details: { template_version: [problem] } });
};

/** A secret has a number among those of its key. @throws {DomainError} `invalid_request`. */
const secretOf = ({ key_id, secret }: Filters): number | null => {
  if (secret === undefined) return null;
  if (key_id !== undefined) return secret;
  const problem = 'secret requires key_id';
  throw new DomainError('invalid_request', problem, { details: { secret: [problem] } });
};

/** Only what happens after acceptance has a time of its own. @throws {DomainError} `invalid_request`. */
const outcomeTimesOf = ({ outcome, outcome_since: from, outcome_until: until }: Filters) => {
  const name = from === undefined ? 'outcome_until' : 'outcome_since';
  if ((from ?? until) !== undefined && timedOutcome(outcome ?? null) === null) {
    const problem = `${name} requires outcome, and not accepted or waiting`;
    throw new DomainError('invalid_request', problem, { details: { [name]: [problem] } });
  }
  return { outcomeSince: from ?? null, outcomeUntil: until ?? null };
};

const filtersOf = (asked: Filters) => ({
  status: asked.status ?? null,
  outcome: asked.outcome ?? null,
  keyId: asked.key_id ?? null,
  requestId: asked.request_id ?? null,
  messageId: orNull(asked.message_id, (text) => MESSAGE_ID.exec(text.trim())?.groups?.id ?? ''),
  since: asked.since ?? null,
  until: asked.until ?? null,
  ...outcomeTimesOf(asked),
});

/** A `Message-ID` holds the message id and the sending domain; both must match. */
const isNamed = (internetMessageId: string, { message_id }: Filters): boolean =>
  message_id === undefined ||
  internetMessageId.slice(1, -1).toLowerCase() === message_id.trim().replaceAll(/^<|>$/g, '').toLowerCase();

const NONE: ListPage<ListedMessage> = { items: [], hasMore: false, next: null };

/** A page of messages that the caller may see. @throws {DomainError} `invalid_request`. */
export const findMessages = async (
  { context, readModels }: HttpDependencies,
  caller: Caller,
  asked: Filters & { readonly after: ListCursor | null },
): Promise<ListPage<ListedMessage>> => {
  const { organizationId, environment } = caller;
  const template = templateOf(organizationId, asked);
  const keySecret = secretOf(asked);
  const own = visibleDomainId(caller);
  if (own !== null && asked.domain_id !== undefined && asked.domain_id !== own) return NONE;
  const page = await readModels.messages.list({
    organizationId,
    environment,
    after: asked.after,
    limit: asked.limit,
    ...digestsOf(await organizationSecret(context.secrets, organizationId), asked),
    ...filtersOf(asked),
    template,
    withoutTemplate: asked.template_id === NO_TEMPLATE,
    secret: keySecret,
    domainId: own ?? asked.domain_id ?? null,
    recipientDomain: asked.recipient_domain ?? null,
    mailboxProvider: asked.mailbox_provider ?? null,
    bounceClass: asked.bounce_class ?? null,
    stream: asked.stream ?? null,
    smtpCodes: codesIn(asked.smtp_code ?? ''),
  });
  return { ...page, items: page.items.filter(({ internetMessageId }) => isNamed(internetMessageId, asked)) };
};

const LIST = 'messages';

const query = z.strictObject({
  ...pageParameters,
  ...messageFilters(),
  at: atParameter(),
  consistency: consistencyParameter(),
});

type ListQuery = Omit<z.output<typeof query>, 'consistency'>;

const serializePage = async (
  { context: { contents } }: HttpDependencies,
  { items, hasMore, next }: ListPage<ListedMessage>,
) => {
  const heads = await contents.heads(items.map(({ contentId }) => contentId));
  const serialized = items.map((item) => serializeListedMessage(item, heads.get(item.contentId)));
  return listOf(serialized, hasMore, encodeCursor(LIST, next));
};

/** Statuses and outcomes are those of now. @throws {DomainError} `invalid_request`. */
const refuseStatus = (asked: ListQuery): void => {
  const name = (['status', 'outcome'] as const).find((one) => asked[one] !== undefined);
  if (name === undefined) return;
  const problem = `${name} cannot be combined with at, because it filters by the current status`;
  throw new DomainError('invalid_request', problem, { details: { [name]: [problem] } });
};

/** A message of the list with its state at a moment. */
const listedThen = (item: ListedMessage, { recipients, expiresAt, schedule }: ExistingMessage): ListedMessage => ({
  ...item,
  ...messageStatus(recipients),
  expiresAt,
  scheduledAt: schedule?.current ?? null,
  recipients: recipients.map(listedRecipient),
});

/** Those that had been accepted by then, as they were. @param deps with the log up to then. */
const messagesThen = async (
  { context }: Pick<HttpDependencies, 'context'>,
  items: readonly ListedMessage[],
): Promise<readonly ListedMessage[]> => {
  const streams = items.map(({ messageId }) => messageStream(messageId));
  const states = new Map((await statesOf(context, message, streams)).map((state) => [state.accepted.messageId, state]));
  return items.flatMap((item) => {
    const state = states.get(item.messageId);
    return state === undefined ? [] : [listedThen(item, state)];
  });
};

const DESCRIPTION = `With \`at\`, messages accepted by that moment in their state at that moment. A page may then have fewer messages than
its limit, and the filters \`status\` and \`outcome\` are not available.`;

export const listMessagesRoute = endpoint(
  'GET /v1/messages',
  {
    summary: 'List messages',
    description: DESCRIPTION,
    query,
    answer: listSchema(listedMessageSchema).extend({ ...completeUntilField(), ...asOfFields() }),
  },
  async ({ caller, query: { consistency, ...asked } }, route) => {
    const { deps } = route;
    const by = { ...asked, after: decodeCursor(LIST, asked.after) };
    if (asked.at !== undefined) refuseStatus(asked);
    const complete = await readWhatIs(deps, ['messages'], consistency);
    const past = await routeAsOf(route, caller, asked.at);
    if (past === null) return listOf([], false, null);
    if (past === undefined)
      return { ...(await serializePage(deps, await findMessages(deps, caller, by))), ...complete };
    const page = await findMessages(deps, caller, { ...by, after: cursorFrom(by.after, past.latest) });
    const list = await serializePage(deps, { ...page, items: await messagesThen(past.route.deps, page.items) });
    return { ...list, ...complete, as_of: past.asOf };
  },
);
