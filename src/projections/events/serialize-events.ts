import type { BounceCategory } from '../../domain/bounce/reply-words.ts';
import type { CustomerEventFacts, CustomerEventType } from '../../domain/customer-events/customer-event-types.ts';
import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import { ERASURE_COUNTS_NONE, type ErasureCounts } from '../../domain/erasure/erasure.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import type { RecipientKind, SmtpFacts } from '../../domain/message/events.ts';
import type { Contents, MessageHead, StoredHead } from '../../domain/ports/contents.ts';
import type { ReplyStage } from '../../domain/ports/mail.ts';
import type { ClientFamily, MachineReason, NetworkKind } from '../../domain/tracking/tracking.ts';
import type { Mailbox } from '../../lib/mime/mime.ts';
import type { TlsPolicy } from '../../lib/smtp/smtp.ts';

/** Heads of stored contents by id. */
export type LoadedContents = ReadonlyMap<string, StoredHead>;

/** The server's reply; null: not known, or erased. */
export interface SerializedSmtp {
  readonly code: number;
  readonly enhanced: string | null;
  readonly text: string | null;
  readonly mx: string | null;
  readonly tls: string | null;
  readonly cipher: string | null;
  readonly policy: TlsPolicy | null;
  readonly address: string | null;
  readonly stage: ReplyStage | null;
}

/** The JSON of a customer event, in the feed and in webhooks. */
export interface SerializedEvent {
  readonly id: string;
  readonly object: 'event';
  readonly type: CustomerEventType;
  readonly timestamp: string;
  readonly environment: Environment | null;
  readonly sequence: number;
  readonly data: SerializedEventData;
}

interface SerializedEventData {
  readonly message_id?: string;
  readonly recipient?: { readonly id: string; readonly address: string | null; readonly kind: RecipientKind | null };
  readonly tags?: MessageHead['tags'];
  readonly metadata?: MessageHead['metadata'];
  readonly domain_id?: string;
  readonly organization_id?: string;
  readonly api_key_id?: string;
  readonly webhook_id?: string;
  readonly template_id?: string;
  /** The topic itself, or the topic that a recipient subscribed to or unsubscribed from. */
  readonly topic_id?: string | null;
  /** Id of the month's invoice, which is created after the month ends. */
  readonly invoice_id?: string;
  readonly period?: string;
  readonly quota?: { readonly plan: string; readonly limit: number; readonly used: number };
  readonly currency?: string;
  readonly total?: number;
  readonly erasure_id?: string;
  readonly erased?: ReturnType<typeof serializeErasureCounts>;
  readonly suppression?: { readonly id: string; readonly address: string | null };
  readonly smtp?: SerializedSmtp;
  readonly attempt?: number;
  readonly next_attempt_at?: string;
  readonly reason?: string;
  readonly category?: BounceCategory;
  readonly late?: true;
  readonly shared?: true;
  readonly scheduled_at?: string;
  readonly first?: true;
  readonly count?: number;
  readonly machine?: boolean;
  readonly machine_reason?: MachineReason;
  readonly client?: ClientFamily;
  readonly network?: NetworkKind;
  readonly origin?: string;
  readonly size?: number;
  readonly root_hash?: string;
  readonly note?: string;
  readonly url?: string | null;
  readonly method?: string;
  readonly scope?: string;
  readonly expires_at?: string | null;
}

/** Ids of the contents that these events refer to. */
export const contentIdsOf = (events: readonly CustomerEvent[]): readonly string[] => [
  ...new Set(
    events.flatMap(({ contentId, facts }) =>
      [contentId, facts.smtp?.replyId ?? null, facts.linkId ?? null].filter((id): id is string => id !== null),
    ),
  ),
];

const messageIn = (contents: LoadedContents, id: string | null): MessageHead | null => {
  const found = id === null ? undefined : contents.get(id);
  return found?.kind === 'message' ? found : null;
};

export const serializeSmtp = ({ replyId, ...smtp }: SmtpFacts, contents: LoadedContents): SerializedSmtp => {
  const reply = replyId === null ? undefined : contents.get(replyId);
  const { code, enhanced, mx, tls, cipher = null, policy = null, address = null, stage = null } = smtp;
  const text = reply?.kind === 'reply' ? reply.text : null;
  return { code, enhanced, text, mx, tls, cipher, policy, address, stage };
};

type AddressedRecipient = Mailbox & { readonly id: string; readonly kind: RecipientKind };

/** Addresses, tags and metadata are null or empty once the contents are erased. */
const messageData = (
  { subjectId, recipientId, contentId }: CustomerEvent,
  contents: LoadedContents,
): SerializedEventData => {
  const body = messageIn(contents, contentId);
  const recipient: AddressedRecipient | undefined = body?.recipients.find(({ id }) => id === recipientId);
  return {
    message_id: subjectId,
    ...(recipientId === null
      ? {}
      : { recipient: { id: recipientId, address: recipient?.address ?? null, kind: recipient?.kind ?? null } }),
    tags: body?.tags ?? [],
    metadata: body?.metadata ?? {},
  };
};

const suppressionData = (
  { subjectId, contentId }: CustomerEvent,
  contents: LoadedContents,
): Pick<SerializedEventData, 'suppression'> => {
  const found = contentId === null ? undefined : contents.get(contentId);
  return { suppression: { id: subjectId, address: found?.kind === 'suppression' ? found.address : null } };
};

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** Drops undefined fields. */
const defined = <Fields extends object>(fields: Fields): Defined<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>; // those left

const billingData = ({ subjectId, facts: { month, quota, invoice } }: CustomerEvent): SerializedEventData => ({
  invoice_id: subjectId,
  ...defined({ period: month }),
  ...(quota === undefined ? {} : { quota: { plan: quota.planId, limit: quota.limit, used: quota.used } }),
  ...invoice,
});

const checkpointData = ({ subjectId, facts: { checkpoint } }: CustomerEvent): SerializedEventData => {
  if (checkpoint === undefined) return { organization_id: subjectId };
  const { origin, size, root, note } = checkpoint;
  return { organization_id: subjectId, origin, size, root_hash: root, note };
};

/** The common form of an erasure's counts. */
export const serializeErasureCounts = (counts: ErasureCounts) => ({
  messages: counts.messages,
  replies: counts.replies,
  links: counts.links,
  suppression_evidence: counts.suppressionEvidence,
  webhook_tries: counts.webhookTries,
  captured_mail: counts.capturedMail,
  contacts: counts.contacts ?? 0,
});

const erasureData = ({ subjectId, facts: { erased } }: CustomerEvent): SerializedEventData => ({
  erasure_id: subjectId,
  erased: serializeErasureCounts(erased ?? ERASURE_COUNTS_NONE),
});

type Family = CustomerEventType extends `${infer Name}.${string}` ? Name : never;

/** Serializers of the subject of an event, by the first word of its type. */
const SUBJECT_DATA: Readonly<Record<Family, (event: CustomerEvent, contents: LoadedContents) => SerializedEventData>> =
  {
    message: messageData,
    suppression: suppressionData,
    billing: billingData,
    erasure: erasureData,
    audit: checkpointData,
    domain: ({ subjectId }) => ({ domain_id: subjectId }),
    organization: ({ subjectId }) => ({ organization_id: subjectId }),
    template: ({ subjectId }) => ({ template_id: subjectId }),
    topic: ({ subjectId }) => ({ topic_id: subjectId }),
    api_key: ({ subjectId }) => ({ api_key_id: subjectId }),
    webhook: ({ subjectId }) => ({ webhook_id: subjectId }),
  };

const subjectData = (event: CustomerEvent, contents: LoadedContents): SerializedEventData => {
  const family = event.type.slice(0, event.type.indexOf('.')) as Family; // every type has one
  return SUBJECT_DATA[family](event, contents);
};

/** Data of an open or a click. The address is null once erased. */
const engagementData = (
  { first, count, machine, client, network, linkId }: CustomerEvent['facts'],
  contents: LoadedContents,
): SerializedEventData => {
  if (count === undefined) return {};
  const link = linkId === undefined ? undefined : contents.get(linkId);
  return {
    ...(linkId === undefined ? {} : { url: link?.kind === 'link' ? link.url : null }),
    count,
    machine: machine !== undefined,
    ...defined({ first, machine_reason: machine, client, network }),
  };
};

const BECAME = { bounces: 'bounced because the mailbox does not exist', complaints: 'complained' } as const;

/** Why, in a sentence without addresses; undefined: the event needs none. */
const reasonOf = ({ reason, isOutcomeUnknown, records, limit }: CustomerEventFacts): string | undefined => {
  if (isOutcomeUnknown === true) return 'the outcome of the attempt is unknown';
  if (records !== undefined) return `missing or wrong in the DNS: ${records.join(', ')}`;
  if (limit === undefined) return reason;
  const { measure, count, of, limitPercent } = limit;
  return `${count} of ${of} recipients of bulk mail ${BECAME[measure]}: the limit is ${limitPercent} %`;
};

/** Serializes an event. @param contents those of `contentIdsOf`; missing ones were erased. */
export const serializeEvent = (event: CustomerEvent, contents: LoadedContents): SerializedEvent => {
  const { smtp, nextAttemptAt, scheduledAt, expiresAt, topicId, ...facts } = event.facts;
  return {
    id: event.id,
    object: 'event',
    type: event.type,
    timestamp: event.timestamp,
    environment: event.environment,
    sequence: event.sequence,
    data: {
      ...subjectData(event, contents),
      ...defined({
        smtp: smtp && serializeSmtp(smtp, contents),
        attempt: facts.attempt,
        next_attempt_at: nextAttemptAt,
      }),
      ...engagementData(event.facts, contents),
      ...defined({ reason: reasonOf(event.facts), category: facts.category, late: facts.late, shared: facts.shared }),
      ...defined({ scheduled_at: scheduledAt, method: facts.method, topic_id: topicId }),
      ...defined({ scope: facts.scope, expires_at: expiresAt }),
    },
  };
};

const NO_CONTENTS: LoadedContents = new Map();

/** Serializes an event without contents of mail, as if they were erased. */
export const serializeWithoutContents = (event: CustomerEvent): SerializedEvent => serializeEvent(event, NO_CONTENTS);

/** Serializes events with their personal data from the vault; erased data is null or empty. */
export const serializeEvents = async (
  contents: Pick<Contents, 'heads'>,
  events: readonly CustomerEvent[],
): Promise<readonly SerializedEvent[]> => {
  const ids = contentIdsOf(events);
  const loaded: LoadedContents = ids.length === 0 ? new Map() : await contents.heads(ids);
  return events.map((event) => serializeEvent(event, loaded));
};
