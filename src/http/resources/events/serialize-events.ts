import type { z } from 'zod';
import type { CustomerEventFacts, CustomerEventType } from '../../../domain/customer-events/customer-event-types.ts';
import type { CustomerEvent } from '../../../domain/customer-events/customer-events.ts';
import { ERASURE_COUNTS_NONE, type ErasureCounts } from '../../../domain/erasure/erasure.ts';
import type { RecipientKind, SmtpFacts } from '../../../domain/message/events.ts';
import type {
  Contents,
  InboundAttachment,
  InboundBody,
  InboundHead,
  LoadedContents,
  MessageHead,
} from '../../../domain/ports/contents.ts';
import type { Mailbox } from '../../../lib/mime/mime.ts';
import type { FeedEvent, smtpSchema } from './event.ts';

/** The JSON of customer events, in the feed and in webhooks. */

type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : { readonly [Name in keyof Value]: Immutable<Value[Name]> };

/** Fields of all types of events, each optional. */
type SerializedEventData<Data = FeedEvent['data']> = {
  readonly [Name in Data extends unknown ? keyof Data : never]?: Data extends { readonly [Same in Name]?: infer Value }
    ? Immutable<Value>
    : never;
};

export type SerializedSmtp = Readonly<z.output<typeof smtpSchema>>;

export interface SerializedEvent extends Readonly<Omit<FeedEvent, 'data'>> {
  readonly data: SerializedEventData;
}

/** Ids of the contents that these events refer to. */
const contentIdsOf = (events: readonly CustomerEvent[]): readonly string[] => [
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

const serializeMailboxes = (mailboxes: readonly Mailbox[]) =>
  mailboxes.map(({ address, name }) => ({ address, name: name ?? null }));

/** Makes the link to an attachment by its place among the parts. */
export type LinkTo = (part: number) => { readonly url: string; readonly expiresAt: string };

const serializeAttachment = ({ part, filename, contentType, bytes, contentId }: InboundAttachment, linkTo?: LinkTo) => {
  const link = linkTo?.(part);
  return {
    filename,
    content_type: contentType,
    size_bytes: bytes,
    content_id: contentId,
    ...(link === undefined ? {} : { url: link.url, url_expires_at: link.expiresAt }),
  };
};

/**
 * The common form of what the vault keeps of an inbound message.
 * @param body null: it was removed. @param linkTo absent: attachments have no links.
 */
export const serializeInboundHead = (body: InboundHead | null, linkTo?: LinkTo) => ({
  envelope: body === null ? null : { ...body.envelope },
  from: serializeMailboxes(body?.from ?? []),
  subject: body?.subject ?? null,
  attachments: (body?.attachments ?? []).map((attachment) => serializeAttachment(attachment, linkTo)),
});

/** The common form of the parts of an inbound message that can be large. */
export const serializeInboundBody = (body: Omit<InboundBody, 'inboundId'>) => ({
  to: serializeMailboxes(body.to),
  cc: serializeMailboxes(body.cc),
  reply_to: serializeMailboxes(body.replyTo),
  message_id: body.internetMessageId,
  date: body.date,
  headers: body.headers.map(({ name, value }) => ({ name, value })),
  text: body.text,
  html: body.html,
  sanitized_html: body.sanitizedHtml,
  reply: body.reply,
  problems: [...body.problems],
});

/** The common form of an inbound message's facts. */
export const serializeInboundFacts = (facts: NonNullable<CustomerEventFacts['inbound']>) => ({
  size_bytes: facts.bytes,
  verdicts: { ...facts.verdicts },
  marked: facts.isMarked === true,
  automatic: facts.isAutomatic === true,
  action: facts.action,
  route_id: facts.routeId,
  in_reply_to_message_id: facts.inReplyToMessageId,
});

const inboundData = (event: CustomerEvent, contents: LoadedContents): SerializedEventData => {
  const { subjectId, contentId, facts } = event;
  const { inbound, forward } = facts;
  if (forward !== undefined) return { inbound_id: subjectId, domain_id: forward.domainId };
  const found = contentId === null ? undefined : contents.get(contentId);
  return {
    inbound_id: subjectId,
    ...serializeInboundHead(found?.kind === 'inbound' ? found : null),
    ...(inbound === undefined ? {} : { domain_id: inbound.domainId, ...serializeInboundFacts(inbound) }),
  };
};

type DefinedFields<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** Drops undefined fields. */
const defined = <Fields extends object>(fields: Fields): DefinedFields<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DefinedFields<Fields>; // those left

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
    inbound: inboundData,
    inbound_route: ({ subjectId }) => ({ inbound_route_id: subjectId }),
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

/** An event, and the message that it is about; null: none, or its contents were erased. */
export interface EventOfMessage {
  readonly event: SerializedEvent;
  readonly head: Pick<MessageHead, 'from' | 'subject'> | null;
}

/** Serializes events, each with its message. @param contents null: without contents, as if they were erased. */
export const serializeWithHeads = async (
  contents: Pick<Contents, 'heads'> | null,
  events: readonly CustomerEvent[],
): Promise<readonly EventOfMessage[]> => {
  const ids = contentIdsOf(events);
  const loaded = contents === null || ids.length === 0 ? NO_CONTENTS : await contents.heads(ids);
  return events.map((event) => ({ event: serializeEvent(event, loaded), head: messageIn(loaded, event.contentId) }));
};

/** Serializes events with their personal data from the vault; erased data is null or empty. */
export const serializeEvents = async (
  contents: Pick<Contents, 'heads'>,
  events: readonly CustomerEvent[],
): Promise<readonly SerializedEvent[]> => (await serializeWithHeads(contents, events)).map(({ event }) => event);
