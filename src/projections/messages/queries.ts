import type { BounceCategory } from '../../domain/bounce/categories.ts';
import { sha256 } from '../../domain/kernel/digest.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import type { RecipientStatus } from '../../domain/message/message.ts';
import { createMemo } from '../../lib/async/async.ts';
import {
  type Database,
  type ListCursor,
  type ListPage,
  pageOf,
  rowsInto,
  rowsToAsk,
} from '../../lib/projections/projections.ts';
import { mailboxProviderOf } from '../stats/metrics.ts';
import {
  type AskOutcome,
  havingOutcome,
  type ListedRecipient,
  labelledOutcome,
  outcomeByTime,
  outcomeOfStatus,
  type StoredRecipient,
  UNMARKED,
} from './outcomes.ts';

/** Labels by which messages are found: insert-only rows in list order, one per label and message. */

/** Kinds of labels. Potentially personal values are stored as keyed digests: addresses, tags and metadata. */
type LabelKind =
  | 'to'
  | 'from'
  | 'tag'
  | 'metadata'
  | 'template'
  | 'domain'
  | 'provider'
  | 'code'
  | 'bounce'
  | 'outcome'
  | 'outcome_at';

export const labelOf = (kind: LabelKind, digest: string): string => `${kind}:${digest}`;

/** @param version null: any. */
export const templateLabel = (templateId: string, version: number | null): string =>
  version === null ? templateId : `${templateId}:${version}`;

/** Owner of the messages. */
interface Owner {
  readonly organizationId: string;
  readonly environment: Environment | null;
}

const ownedLabel = ({ organizationId, environment }: Owner, label: string): string =>
  `${organizationId} ${environment} ${label}`;
const keyOf = (owned: string): string => sha256(owned).readBigInt64BE().toString();

/**
 * The stored form of a label: the first 64 bits of SHA-256 over its owner and its text, which needs a third of the space of
 * the text in a table and its index.
 */
export const labelKey = (owner: Owner, label: string): string => keyOf(ownedLabel(owner, label));

/** Cached keys of frequent labels, about 100 bytes each. Computing a key costs ten times as much as a cache hit. */
const KEYS_KEPT_MAX = 5_000;
const repeated = createMemo<string>(KEYS_KEPT_MAX);
export const repeatedKey = (owner: Owner, label: string): string => {
  const owned = ownedLabel(owner, label);
  return repeated(owned, () => keyOf(owned));
};

/** A row of `message_labels`. */
export interface Label {
  readonly key: string;
  /** Acceptance of the message. For a label `outcome_at`: the time of the outcome. */
  readonly createdAt: string;
  readonly messageId: string;
}

export type AcceptedMessage = RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>;

const templateLabels = (used: AcceptedMessage['data']['template']): readonly string[] =>
  used === undefined
    ? []
    : [null, used.version].map((version) => labelOf('template', templateLabel(used.templateId, version)));

/** Two recipients of a message may have one address: each label once. */
export const labelsOfAcceptance = ({ data, metadata }: AcceptedMessage): readonly Label[] => {
  const { occurredAt: createdAt } = metadata;
  const own = new Set([
    ...data.recipients.map(({ digest }) => labelOf('to', digest)),
    ...data.metadataDigests.map((digest) => labelOf('metadata', digest)),
  ]);
  const shared = new Set([
    labelOf('from', data.fromDigest),
    ...data.recipients.map(({ domain }) => labelOf('domain', domain)),
    ...data.recipients.map(({ domain }) => labelOf('provider', mailboxProviderOf(domain))),
    ...data.tagDigests.map((digest) => labelOf('tag', digest)),
    ...templateLabels(data.template),
  ]);
  const keys = [
    ...[...own].map((label) => labelKey(metadata, label)),
    ...[...shared].map((label) => repeatedKey(metadata, label)),
  ];
  return keys.map((key) => ({ key, createdAt, messageId: data.messageId }));
};

export type RefusalEvent = RecordedEvent<
  Extract<MessageEvent, { readonly type: 'RecipientDeferred' | 'RecipientBounced' }>
>;

interface Refusal {
  /** Codes of a reply: `550`, `5.1.1`. */
  readonly codes: readonly string[];
  /** null: it did not bounce. */
  readonly bounceClass: BounceCategory | null;
}

/** A bounce whose class is not known is one of `unknown`, as in the statistics. */
export const refusalOf = (event: RefusalEvent): Refusal => {
  const { code, enhanced } = event.data.smtp;
  return {
    codes: [...(code === 0 ? [] : [String(code)]), ...(enhanced === null ? [] : [enhanced])],
    bounceClass: event.type === 'RecipientBounced' ? (event.data.category ?? 'unknown') : null,
  };
};

const labelsIn = ({ codes, bounceClass }: Refusal): readonly string[] => [
  ...codes.map((code) => labelOf('code', code)),
  ...(bounceClass === null ? [] : [labelOf('bounce', bounceClass)]),
];

/** Those that the message does not bear yet: each once, however often it is refused. */
export const labelsOfRefusal = (
  event: RefusalEvent,
  { recipients, createdAt }: { readonly recipients: readonly Partial<Refusal>[]; readonly createdAt: string },
): readonly Label[] => {
  const { messageId } = event.data;
  const borne = recipients.flatMap(({ codes = [], bounceClass = null }) => labelsIn({ codes, bounceClass }));
  const further = new Set(labelsIn(refusalOf(event))).difference(new Set(borne));
  return [...further].map((label) => ({ key: labelKey(event.metadata, label), createdAt, messageId }));
};

export const insertLabels = rowsInto<Label>('message_labels', {
  label: 'key',
  created_at: 'createdAt',
  message_id: 'messageId',
});

/** A message as lists show it; addresses, subject and tags are in the vault's contents under `contentId`. */
export interface ListedMessage {
  readonly messageId: string;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly domainId: string;
  readonly keyId: string;
  readonly contentId: string;
  readonly internetMessageId: string;
  readonly stream: 'transactional' | 'bulk';
  readonly sizeBytes: number;
  /** null: it was rendered from none. */
  readonly template: { readonly templateId: string; readonly version: number } | null;
  readonly status: RecipientStatus;
  /** Delivered to some only. */
  readonly partial: boolean;
  readonly recipients: readonly ListedRecipient[];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly expiresAt: string;
  /** null: at once. */
  readonly scheduledAt: string | null;
}

export interface ListMessages extends AskOutcome {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly domainId: string | null;
  readonly status: RecipientStatus | null;
  /** Keyed digests, as in `MessageAccepted`: of a recipient's address, … */
  readonly toDigest: string | null;
  /** … the sender's address, … */
  readonly fromDigest: string | null;
  /** … a tag, … */
  readonly tagDigest: string | null;
  /** … a name and value of its metadata, … */
  readonly metadataDigest: string | null;
  /** … and its whole subject. */
  readonly subjectDigest: string | null;
  /** Digests of words (`search-words.ts`) that its contents must all have. Empty: any contents. */
  readonly searchWords: readonly string[];
  /** Template that it was rendered from (`templateLabel`). */
  readonly template: string | null;
  /** True: only those that were rendered from none. */
  readonly withoutTemplate: boolean;
  /** Codes of replies that refused a recipient: `550`, `5.1.1`. All must match. */
  readonly smtpCodes: readonly string[];
  readonly stream: string | null;
  /** The key that sent it. */
  readonly keyId: string | null;
  /** Number of that key's secret that sent it. */
  readonly secret: number | null;
  /** The request that asked for it, alone or in a batch. */
  readonly requestId: string | null;
  readonly messageId: string | null;
  /** Accepted at or after; ISO 8601. */
  readonly since: string | null;
  /** Accepted before. */
  readonly until: string | null;
  readonly limit: number;
  readonly after: ListCursor | null;
}

const COLUMNS = `m.message_id, m.organization_id, m.environment, m.domain_id, m.key_id, m.content_id,
    m.internet_message_id, m.stream, m.size_bytes, m.template, m.status, m.partial, m.recipients, m.created_at, m.updated_at,
    m.expires_at, m.scheduled_at`;

/** Columns of a page, whose place in the list is that of a message `m` or of a label `l`. */
const columnsAt = (row: 'm' | 'l'): string => `${COLUMNS}, ${row}.created_at as listed_at`;

/** Conditions on the message itself. Each is optional. */
const ITS_OWN = `
    and ($3::text is null or m.domain_id = $3) and ($4::text is null or m.status = $4)
    and ($10::text is null or m.key_id = $10) and ($11::text is null or m.subject_digest = $11)
    and ($12::text is null or m.request_id = $12) and ($13::text is null or m.message_id = $13)
    and ($14::integer is null or m.secret = $14) and ($15::text is null or m.stream = $15)
    and (not $16::boolean or m.template is null)`;

/** True if the stored contents have all of these words. The offset makes it one probe for each row of the list. */
const havingWords = (parameter: string): string => `
    and exists (
      select from vault.contents c where c.id = m.content_id::uuid and c.subject_words @> ${parameter}::bigint[] offset 0)`;

const list = (further: string): string => `
  select ${columnsAt('m')} from read_models.messages m
  where m.organization_id = $1 and m.environment = $2${ITS_OWN}
    and ($5::timestamptz is null or m.created_at >= $5) and ($6::timestamptz is null or m.created_at < $6)
    and ($7::timestamptz is null or (m.created_at, m.message_id) < ($7, $8::text))${further}
  order by m.created_at desc, m.message_id desc
  limit $9`;

/**
 * Labels that it must bear besides. The offset makes it one probe for each label and row of the list.
 * @param row of the message, or one of its labels.
 */
const havingLabels = (row: string, parameter: string): string => `
    and not exists (
      select from unnest(${parameter}::bigint[]) other(label) where not exists (
        select from read_models.message_labels o
        where o.label = other.label and o.created_at = ${row}.created_at and o.message_id = ${row}.message_id offset 0))`;

/**
 * By label: the index has its rows in the order of the list.
 * @param accepted row with the time of acceptance: the label, unless it stands at another time.
 */
const listByLabel =
  (accepted: 'l' | 'm') =>
  (further: string): string =>
    `
  select ${columnsAt('l')} from read_models.message_labels l
  join read_models.messages m using (message_id)
  where l.label = $17::bigint and m.organization_id = $1 and m.environment = $2
    and ($5::timestamptz is null or ${accepted}.created_at >= $5)
    and ($6::timestamptz is null or ${accepted}.created_at < $6)
    and ($7::timestamptz is null or (l.created_at, l.message_id) < ($7, $8::text))${ITS_OWN}
    ${havingLabels(accepted, '$18')}${further}
  order by l.created_at desc, l.message_id desc
  limit $9`;

/** Few: these alone are looked at. Many: a page of the list has them soon. */
const listWithFew = (further: string): string =>
  list(`
    and m.message_id = any ($17::text[])${havingLabels('m', '$18')}${further}`);

/** Higher: useless reads of ids. Lower: a page scans more of the list. */
const FEW_MAX = 10_000;
const WITH_WORDS = `
  select message_id as id from vault.contents where subject_words @> $1::bigint[] limit ${FEW_MAX + 1}`;

/** Ids of the messages whose contents have the words; null: there are many. */
const fewWith = async (
  db: Database,
  words: ListMessages['searchWords'],
): Promise<readonly (string | null)[] | null> => {
  const { rows } = await db.query<{ readonly id: string | null }>(WITH_WORDS, [words]);
  return rows.length > FEW_MAX ? null : rows.map(({ id }) => id);
};

interface Row {
  readonly message_id: string;
  readonly organization_id: string;
  readonly environment: Environment;
  readonly domain_id: string;
  readonly key_id: string;
  readonly content_id: string;
  readonly internet_message_id: string;
  readonly stream: ListedMessage['stream'];
  readonly size_bytes: number;
  readonly template: ListedMessage['template'];
  readonly status: RecipientStatus;
  readonly partial: boolean;
  readonly recipients: readonly StoredRecipient[];
  readonly created_at: Date;
  readonly listed_at: Date;
  readonly updated_at: Date;
  readonly expires_at: Date;
  readonly scheduled_at: Date | null;
}

const listed = (row: Row): ListedMessage => ({
  messageId: row.message_id,
  organizationId: row.organization_id,
  environment: row.environment,
  domainId: row.domain_id,
  keyId: row.key_id,
  contentId: row.content_id,
  internetMessageId: row.internet_message_id,
  stream: row.stream,
  sizeBytes: row.size_bytes,
  template: row.template,
  status: row.status,
  partial: row.partial,
  recipients: row.recipients.map((recipient) => ({ ...UNMARKED, ...recipient })),
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
  scheduledAt: row.scheduled_at?.toISOString() ?? null,
});

/** Keys of labels the message must bear; the rarest kind first, because the list is read along the first one. */
const labelsOf = (by: ListMessages): readonly string[] => {
  const timed = outcomeByTime(by);
  const values: readonly (readonly [LabelKind, string | null])[] = [
    ['outcome_at', timed],
    ['metadata', by.metadataDigest],
    ['to', by.toDigest],
    ...by.smtpCodes.toReversed().map((code) => ['code', code] as const),
    ['bounce', by.bounceClass],
    ['outcome', timed === null ? (labelledOutcome(by.outcome) ?? outcomeOfStatus(by.status)) : null],
    ['tag', by.tagDigest],
    ['template', by.template],
    ['domain', by.recipientDomain],
    ['provider', by.mailboxProvider],
    ['from', by.fromDigest],
  ];
  return values.flatMap(([kind, value]) => (value === null ? [] : [labelKey(by, labelOf(kind, value))]));
};

/** Parameters that all statements have. */
const COMMON = 16;

interface Statement {
  /** @param further conditions on the message. */
  text(further: string): string;
  /** Parameters behind the common ones. */
  readonly further: readonly unknown[];
}

const statementFor = async (db: Database, by: ListMessages): Promise<Statement> => {
  const isByTime = outcomeByTime(by) !== null;
  const labels = labelsOf(by);
  const [label, ...others] = labels;
  const along = label === undefined ? [] : [label, others];
  const text = label === undefined ? list : listByLabel(isByTime ? 'm' : 'l');
  const { searchWords: words } = by;
  if (words.length === 0) return { text, further: along };
  const few = isByTime ? null : await fewWith(db, words);
  if (few !== null) return { text: listWithFew, further: [few, labels] };
  const wordsAt = `$${COMMON + along.length + 1}`;
  return { text: (further) => text(`${havingWords(wordsAt)}${further}`), further: [...along, words] };
};

/** Messages of one environment, newest first; by the time of an outcome, the one with the latest first. */
export const listMessages = async (db: Database, by: ListMessages): Promise<ListPage<ListedMessage>> => {
  const { organizationId, environment, domainId, status, since, until, after, limit } = by;
  const cursor = [after?.createdAt ?? null, after?.id ?? null];
  const own = [by.keyId, by.subjectDigest, by.requestId, by.messageId, by.secret, by.stream, by.withoutTemplate];
  const values = [organizationId, environment, domainId, status, since, until, ...cursor, rowsToAsk(limit), ...own];
  const { text, further } = await statementFor(db, by);
  const outcome = havingOutcome(by, COMMON + further.length);
  // Not prepared: which index serves depends on which filters are there, so each call has a plan of its own.
  const { rows } = await db.query<Row>(text(outcome.sql), [...values, ...further, ...outcome.values]);
  const page = pageOf(rows, limit, ({ listed_at, message_id: id }) => ({ createdAt: listed_at.toISOString(), id }));
  return { ...page, items: page.items.map(listed) };
};

/** Status of messages by id; what the read model does not have is absent. */
export const messageStatuses = async (
  db: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RecipientStatus>> => {
  const text = 'select message_id as id, status from read_models.messages where message_id = any($1)';
  const { rows } = await db.query<{ readonly id: string; readonly status: RecipientStatus }>({
    name: 'message-statuses',
    text,
    values: [ids],
  });
  return new Map(rows.map(({ id, status }) => [id, status]));
};

/** Finds all messages ever sent to an address, for its erasure. */

const MESSAGES_TO = `
  select message_id as "messageId", created_at as "createdAt" from read_models.message_labels
  where label = $1::bigint and ($2::timestamptz is null or (created_at, message_id) < ($2, $3::text))
  order by created_at desc, message_id desc
  limit $4`;

interface AskMessagesTo extends Pick<ListMessages, 'organizationId' | 'environment' | 'after'> {
  /** Keyed digest of the recipient's address. */
  readonly digest: string;
}

/** Streams that are read for one page of them. */
const MESSAGES_TO_PER_PAGE = 100;

/** Ids of the messages to an address, newest first, a page at a time. */
export const messagesTo = async (
  db: Database,
  { digest, ...by }: AskMessagesTo,
): Promise<{ readonly messageIds: readonly string[]; readonly next: ListCursor | null }> => {
  const values = [labelKey(by, labelOf('to', digest)), by.after?.createdAt, by.after?.id];
  const { rows } = await db.query<{ messageId: string; createdAt: Date }>({
    name: 'messages-to',
    text: MESSAGES_TO,
    values: [...values.map((value) => value ?? null), rowsToAsk(MESSAGES_TO_PER_PAGE)],
  });
  const page = pageOf(rows, MESSAGES_TO_PER_PAGE, ({ createdAt, messageId }) => ({
    createdAt: createdAt.toISOString(),
    id: messageId,
  }));
  return { messageIds: page.items.map(({ messageId }) => messageId), next: page.next };
};
