import type { Mailbox, StoredAlternative, StoredAttachment, UnsubscribeWays } from '../../lib/mime/mime.ts';
import type { SaltedPart } from '../../lib/transparency/transparency.ts';
import type { Analysis, Finding } from '../analysis/analysis.ts';
import type { ErasureCounts } from '../erasure/erasure.ts';
import type { TemplateContent } from '../template/content.ts';

/**
 * PORT: the vault's contents, which hold the personal data that events refer to. Rows are inserted under a random id,
 * and removed only by erasure and retention, which leave a record in their place. An id that an event names but that
 * does not exist is a fault.
 * Adapter: `adapters/contents/postgres.ts`.
 */

/** A header field that occurs several times in a message (RFC 5322 §3.6). */
export interface RepeatedHeader {
  readonly name: string;
  readonly value: string;
}

/**
 * Recipients named in the headers. They may differ from the envelope. An address is empty for a name without one
 * (`undisclosed-recipients`).
 */
export interface ShownRecipients {
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
}

/** The part of an analysis that the response to a send contains. */
export type ToldAnalysis = Pick<Analysis, 'score' | 'verdict' | 'findings'>;

/** The parsed content of a send request. Each recipient's address is stored with the id that events use for it. */
export interface MessageBody {
  readonly kind: 'message';
  readonly messageId: string;
  readonly from: Mailbox;
  readonly recipients: readonly (Mailbox & { readonly id: string; readonly kind: 'to' | 'cc' | 'bcc' })[];
  /** `To` and `Cc` as written, if they differ from the recipients because some get copies of their own. */
  readonly shown?: ShownRecipients;
  readonly replyTo: readonly Mailbox[];
  /** May be empty. */
  readonly subject: string;
  readonly html?: string;
  readonly text?: string;
  /** In increasing order of preference (RFC 2046 §5.1.4). */
  readonly alternatives?: readonly StoredAlternative[];
  readonly headers: Readonly<Record<string, string>>;
  /** Further fields of names that are already in `headers`, spelled as there, in order. */
  readonly repeatedHeaders?: readonly RepeatedHeader[];
  readonly attachments: readonly StoredAttachment[];
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly metadata: Readonly<Record<string, string>>;
  /** `managed`: this service adds a link for each recipient. */
  readonly unsubscribe?: UnsubscribeWays | 'managed';
  /** Analysis returned to the sender, if requested. A replay returns the same. */
  readonly analysis?: ToldAnalysis;
  /** Problems that the strict rule finds in the HTML of a message that was accepted anyway and not analysed. */
  readonly findings?: readonly Finding[];
  /** Present if the mail lets its recipient sign in. Its contents are not shown to anyone else. */
  readonly confidential?: true;
  /** Salts of its parts (`domain/message/draft.ts`), in order, base64url. Absent: no event is bound to them. */
  readonly salts?: readonly string[];
}

/** Findings about a message, from its analysis or from the check of its HTML. */
export const findingsOf = ({ analysis, findings = [] }: MessageBody): readonly Finding[] =>
  analysis?.findings ?? findings;

/** The part of a message that lists, events and webhooks show: everything except the parts that can be large. */
export interface MessageHead
  extends Omit<
    MessageBody,
    'html' | 'text' | 'alternatives' | 'attachments' | 'analysis' | 'findings' | 'shown' | 'salts'
  > {
  readonly attachments: readonly Omit<StoredAttachment, 'content'>[];
}

/** Text of one SMTP reply. It often quotes the address. */
export interface ReplyText {
  readonly kind: 'reply';
  readonly messageId: string;
  readonly text: string;
  /** Salt of its only part (`domain/message/draft.ts`), base64url. Absent: no event is bound to it. */
  readonly salt?: string;
}

/** Target of a clicked link. URLs often name people. */
export interface LinkAddress {
  readonly kind: 'link';
  readonly messageId: string;
  readonly url: string;
}

/**
 * The suppressed address and the evidence. Stored as long as the suppression, independent of the message's retention.
 */
export interface SuppressionEvidence {
  readonly kind: 'suppression';
  /** Address as written; null if it was erased before it was suppressed. */
  readonly address: string | null;
  /** The server's reply, or the note of the person who added the entry; otherwise null. */
  readonly text: string | null;
}

/** Content of a template's draft or version. Stored as long as the log. */
interface TemplateBody {
  readonly kind: 'template';
  readonly content: TemplateContent;
}

/** An attachment of an inbound message. Its bytes are cut from the raw mail when they are asked for. */
export interface InboundAttachment {
  /** Place among the mail's parts, by which it is found again. */
  readonly part: number;
  /** File name without folders; null if the mail names none. */
  readonly filename: string | null;
  readonly contentType: string;
  /** Decoded bytes. */
  readonly bytes: number;
  /** Without angle brackets, as `cid:` links of the html name it; null if it has none. */
  readonly contentId: string | null;
}

/** Contents of an inbound message as read, and the addresses of its envelope. */
export interface InboundBody {
  readonly kind: 'inbound';
  readonly inboundId: string;
  readonly envelope: {
    /** Return path; empty for a report. */
    readonly from: string;
    readonly to: string;
  };
  readonly from: readonly Mailbox[];
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
  readonly replyTo: readonly Mailbox[];
  readonly subject: string;
  /** `Date` as written; null without one. */
  readonly date: string | null;
  /** With angle brackets; null without one. */
  readonly internetMessageId: string | null;
  /** Decoded header fields, in order. */
  readonly headers: readonly RepeatedHeader[];
  readonly text: string | null;
  readonly html: string | null;
  /** The html without scripts, forms and whatever else acts when it is shown. */
  readonly sanitizedHtml: string | null;
  /** The text without what it quotes, and without the signature. */
  readonly reply: string | null;
  readonly attachments: readonly InboundAttachment[];
  /** Phrases that say what could not be read. Empty: the mail was read as a whole. */
  readonly problems: readonly string[];
}

/** The parts of an inbound message that lists, events and previews of a page do not need. */
export type InboundHead = Omit<InboundBody, 'headers' | 'text' | 'html' | 'sanitizedHtml' | 'reply'>;

/** An inbound message as it was received. */
export interface InboundRaw {
  readonly kind: 'inbound_raw';
  readonly inboundId: string;
  /** Base64. */
  readonly content: string;
}

/**
 * Contact address of an organization, an auditor or a member, or the address that a route forwards mail to. Stored until
 * it is replaced or the person is removed.
 */
export interface ContactAddress {
  readonly kind: 'contact';
  /** Null for an auditor who gets no mail. */
  readonly address: string | null;
  /** Present for an auditor's address. Without `auditor`, `member` and `inboundRoute` it is the organization's. */
  readonly auditor?: { readonly id: string; readonly name: string };
  readonly member?: { readonly id: string; readonly name: string };
  /** Id of the route that forwards mail to the address. */
  readonly inboundRoute?: string;
}

/**
 * The remains of a part: the root in the event can still be computed from the hash, and the value cannot be guessed.
 */
export interface RemovedPart {
  readonly name: string;
  /** base64 */
  readonly hash: string;
  /** Present if the part was kept when the others were removed, and removed later. */
  readonly later?: Pick<ExpiredContent, 'kind' | 'at'> | Pick<ErasedContent, 'kind' | 'at' | 'erasureId'>;
}

/** Replaces a content that retention removed after its time, once no delivery needed it. */
export interface ExpiredContent {
  readonly kind: 'expired';
  /** ISO 8601. */
  readonly at: string;
  /** Parts of a message whose event is bound to them. */
  readonly parts?: readonly RemovedPart[];
}

/** Replaces a content that an erasure removed, or a later one about an erased message. */
export interface ErasedContent {
  readonly kind: 'erased';
  /** ISO 8601. */
  readonly at: string;
  readonly erasureId: string;
  /** Parts of a message whose event is bound to them. Those that identify the other recipients are unchanged. */
  readonly parts?: readonly (RemovedPart | SaltedPart)[];
}

export const isKeptPart = (part: RemovedPart | SaltedPart): part is SaltedPart => 'salt' in part;

/** Whether it still identifies some recipients. */
export const isPartlyErased = (body: StoredBody): body is ErasedContent =>
  body.kind === 'erased' && body.parts?.some(isKeptPart) === true;

/** The record that replaces a removed content, with the reason. */
export type RemovedContent = ExpiredContent | ErasedContent;

export const isRemoved = (body: StoredBody | StoredHead): body is RemovedContent =>
  body.kind === 'expired' || body.kind === 'erased';

/** Contents that commands store. */
type NewBody =
  | MessageBody
  | InboundBody
  | InboundRaw
  | ReplyText
  | LinkAddress
  | SuppressionEvidence
  | TemplateBody
  | ContactAddress
  | ErasedContent;
export type StoredBody = NewBody | ExpiredContent;
export type StoredHead = Exclude<StoredBody, MessageBody | InboundBody> | MessageHead | InboundHead;

/** Heads of stored contents by id. */
export type LoadedContents = ReadonlyMap<string, StoredHead>;

export interface MessageContents {
  /** UUID, random per request. */
  readonly id: string;
  readonly organizationId: string;
  readonly body: NewBody;
  /** Digests of words (`search-words.ts`), by which the message can be searched for as long as its contents are stored. */
  readonly searchWords?: readonly string[];
}

const inboundHeadOf = (body: InboundBody): InboundHead => {
  const { headers, text, html, sanitizedHtml, reply, ...head } = body;
  return head;
};

/** The head of a content. Only messages, sent or received, have parts that are left out. */
export const headOf = (body: StoredBody): StoredHead => {
  if (body.kind === 'inbound') return inboundHeadOf(body);
  if (body.kind !== 'message') return body;
  const { html, text, alternatives, attachments, analysis, findings, shown, salts, ...head } = body;
  return { ...head, attachments: attachments.map(({ content, ...attachment }) => attachment) };
};

export interface Contents {
  /** Stores rows. An existing id keeps its first body. Durable when it resolves. */
  put(contents: readonly MessageContents[]): Promise<void>;
  /** Bodies by id. Missing ids are absent from the map. Concurrent calls share a query. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredBody>>;
  /** Like `get`, without the large parts. Used for pages of messages or events. */
  heads(ids: readonly string[]): Promise<LoadedContents>;
}

/** A content that retention may remove. */
export interface OldContent {
  readonly id: string;
  /** `partly_erased`: a message of which only the parts about other recipients remain. */
  readonly kind: 'message' | 'inbound' | 'inbound_raw' | 'reply' | 'link' | 'contact' | 'partly_erased';
  /** Null if it does not belong to a message. */
  readonly messageId: string | null;
  /** Time of storage, in the adapter's format. */
  readonly storedAt: string;
}

export interface StoredBefore {
  readonly organizationId: string;
  readonly before: Date;
  /** Last content of the previous page; null to start from the oldest. */
  readonly after: OldContent | null;
  readonly limit: number;
}

export interface OldRows {
  readonly before: Date;
  readonly limit: number;
}

/** The items that an erasure removes in one step. */
export interface Going {
  readonly erasureId: string;
  readonly organizationId: string;
  /** Ids of contents of messages, replies, links and suppressions. */
  readonly contentIds: readonly string[];
  /** The person's recipient ids in these messages. The identities of other recipients are kept. */
  readonly recipientIds: readonly string[];
  /** Webhook deliveries whose tries are removed: the requests named the person, and the responses may quote them. */
  readonly deliveryIds: readonly string[];
  /** Captured mail is found by Message-ID and sender domain. */
  readonly mail: readonly { readonly internetMessageId: string; readonly fromDomain: string }[];
  readonly at: Date;
}

interface ErasureNote {
  readonly erasureId: string;
  readonly organizationId: string;
  /** Number of messages with recipients that have no final outcome yet. */
  readonly waitingMessages: number;
  readonly isDone: boolean;
  readonly at: Date;
}

export interface ErasureProgress {
  readonly counts: ErasureCounts;
  readonly waitingMessages: number;
  /** ISO 8601. */
  readonly updatedAt: string;
}

/**
 * PORT: removes expired and erased data from the vault and the inbox, a batch at a time. Adapter:
 * `adapters/retention/postgres`.
 */
export interface Retention {
  /** Contents of an organization stored before a time, oldest first. */
  contents(query: StoredBefore): Promise<readonly OldContent[]>;
  /**
   * Replaces contents with the record that they expired, in one step: nothing is removed without a record. It keeps the
   * hashes of parts that an event is bound to.
   * @returns the number replaced, without those that expired earlier or are expiring concurrently.
   */
  expire(ids: readonly string[], at: Date): Promise<number>;
  /**
   * Removes data about a person and adds the counts to the progress of the erasure, in one step. Repeating it removes
   * and counts nothing.
   * @returns the number of removed rows.
   */
  erase(going: Going): Promise<number>;
  /** Number of rows that `erase` would remove, by kind. */
  countErasable(going: Omit<Going, 'erasureId' | 'at'>): Promise<ErasureCounts>;
  /**
   * Records how many messages an erasure waits for, and whether this vault no longer holds anything about the person.
   */
  noteErasure(note: ErasureNote): Promise<void>;
  /** Progress of erasures by id. Those that have not started are absent. */
  erasureProgress(ids: readonly string[]): Promise<ReadonlyMap<string, ErasureProgress>>;
  /**
   * Deletes finished webhook deliveries and replays, and tries, from before a time.
   * @returns the number of the most numerous kind.
   */
  deleteWebhookTries(rows: OldRows): Promise<number>;
  /** Webhook endpoints, in order after the given one, with pending deliveries that were due before a time. */
  waitingEndpoints(query: OldRows & { readonly after: string }): Promise<readonly string[]>;
  /** Deletes pending deliveries of an endpoint. @returns the number deleted. */
  deletePendingDeliveries(webhookId: string, limit: number): Promise<number>;
  /** Deletes captured mail from before a time. @returns the number deleted. */
  deleteCapturedMail(rows: OldRows): Promise<number>;
  /** Deletes refused requests from before a time. @returns the number deleted. */
  deleteRefusedRequests(rows: OldRows): Promise<number>;
  /** Deletes refused requests whose bodies named an address. @returns the number deleted. */
  eraseRefusedRequests(person: { readonly organizationId: string; readonly digest: string }): Promise<number>;
  /** Deletes saved views that contain an address. @returns the number of members who had such views. */
  eraseMemberViews(person: { readonly organizationId: string; readonly digest: string }): Promise<number>;
}
