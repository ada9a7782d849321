import type { Mailbox, StoredAlternative, StoredAttachment, UnsubscribeWays } from '../../lib/mime/mime.ts';
import type { SaltedPart } from '../../lib/transparency/transparency.ts';
import type { Analysis, Finding } from '../analysis/analysis.ts';
import type { TemplateContent } from '../template/content.ts';

/**
 * PORT: the vault's contents. Personal data named by events: insert-only under a random id, removed by erasure and
 * retention alone, which leave a record in its place: an id that is absent although an event names it is a fault.
 * Adapter: `adapters/contents/postgres.ts`.
 */

/** A header field that stands in a message several times (RFC 5322 §3.6). */
export interface RepeatedHeader {
  readonly name: string;
  readonly value: string;
}

/** Somebody named in a header: of a name that has no address (`undisclosed-recipients`) the address is empty. */
export type ShownMailbox = Mailbox;

/** Recipients named in the headers. They may differ from the envelope. */
export interface ShownRecipients {
  readonly to: readonly ShownMailbox[];
  readonly cc: readonly ShownMailbox[];
}

/** What the answer to a send tells of its analysis. */
export type ToldAnalysis = Pick<Analysis, 'score' | 'verdict' | 'findings'>;

/** What a client asked to send, as parsed; addresses of recipients stand beside the ids that events use for them. */
export interface MessageBody {
  readonly kind: 'message';
  readonly messageId: string;
  readonly from: Mailbox;
  readonly recipients: readonly (Mailbox & { readonly id: string; readonly kind: 'to' | 'cc' | 'bcc' })[];
  /** `To` and `Cc` as they were written, where these are not the recipients: some get copies of their own. */
  readonly shown?: ShownRecipients;
  readonly replyTo: readonly Mailbox[];
  /** Empty: it has none. */
  readonly subject: string;
  readonly html?: string;
  readonly text?: string;
  /** In the order of preference, the last the most (RFC 2046 §5.1.4). */
  readonly alternatives?: readonly StoredAlternative[];
  readonly headers: Readonly<Record<string, string>>;
  /** Those of a name that `headers` has already, written as it is there, in their order. */
  readonly repeatedHeaders?: readonly RepeatedHeader[];
  readonly attachments: readonly StoredAttachment[];
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly metadata: Readonly<Record<string, string>>;
  /** `managed`: a link of ours for each recipient. */
  readonly unsubscribe?: UnsubscribeWays | 'managed';
  /** What the sender was answered, where they asked for it: a replay answers the same. */
  readonly analysis?: ToldAnalysis;
  /** Problems that the strict rule finds in its html, where the message was accepted all the same and not analyzed. */
  readonly findings?: readonly Finding[];
  /** It lets its recipient sign in: nobody else is shown what it says. */
  readonly confidential?: true;
  /** Of its parts (`domain/message/content-parts.ts`) in their order, base64url; absent: no event is bound to them. */
  readonly salts?: readonly string[];
}

/** Findings about a message, by its analysis or by the check of its html. */
export const findingsOf = ({ analysis, findings = [] }: MessageBody): readonly Finding[] =>
  analysis?.findings ?? findings;

/** What lists, events and webhooks show of a message: the body without its parts that can be large. */
export interface MessageHead
  extends Omit<
    MessageBody,
    'html' | 'text' | 'alternatives' | 'attachments' | 'analysis' | 'findings' | 'shown' | 'salts'
  > {
  readonly attachments: readonly Omit<StoredAttachment, 'content'>[];
}

/** The text of one SMTP reply: it often quotes the address. */
export interface ReplyText {
  readonly kind: 'reply';
  readonly messageId: string;
  readonly text: string;
  /** Of its only part (`domain/message/content-parts.ts`), base64url; absent: no event is bound to it. */
  readonly salt?: string;
}

/** Where a link that was clicked leads: addresses often name people. */
export interface LinkAddress {
  readonly kind: 'link';
  readonly messageId: string;
  readonly url: string;
}

/** Whom a suppression keeps mail from, and what speaks for it. It lives as long as the suppression, whatever the message's does. */
export interface SuppressionEvidence {
  readonly kind: 'suppression';
  /** As written; null: it was erased before it was put on the list. */
  readonly address: string | null;
  /** The reply of the server, or the note of whoever added it; null: there is none. */
  readonly text: string | null;
}

/** The content of a template's draft or version. It lives as long as the log. */
export interface TemplateBody {
  readonly kind: 'template';
  readonly content: TemplateContent;
}

/**
 * Where an organization, one of its auditors or one of its members is written to. It lives until another takes its place, or
 * the removal of the person.
 */
export interface ContactAddress {
  readonly kind: 'contact';
  /** null: of an auditor who is not written to. */
  readonly address: string | null;
  /** Absent: it is the organization's. */
  readonly auditor?: { readonly id: string; readonly name: string };
  readonly member?: { readonly id: string; readonly name: string };
}

/** What is left of a part: the root in the event can still be computed, and the value cannot be found by trying. */
export interface RemovedPart {
  readonly name: string;
  /** base64 */
  readonly hash: string;
  /** It was kept when the others were removed, and removed later. */
  readonly later?: Pick<ExpiredContent, 'kind' | 'at'> | Pick<ErasedContent, 'kind' | 'at' | 'erasureId'>;
}

/** In the place of a content that retention removed: its time was over, and no delivery needed it any more. */
export interface ExpiredContent {
  readonly kind: 'expired';
  /** ISO 8601. */
  readonly at: string;
  /** Of a message whose event is bound to them. */
  readonly parts?: readonly RemovedPart[];
}

/** In the place of a content that an erasure removed, and of one about an erased message that came later. */
export interface ErasedContent {
  readonly kind: 'erased';
  /** ISO 8601. */
  readonly at: string;
  readonly erasureId: string;
  /** Of a message whose event is bound to them. Those that say who the other recipients are stay as they were. */
  readonly parts?: readonly (RemovedPart | SaltedPart)[];
}

export const isKeptPart = (part: RemovedPart | SaltedPart): part is SaltedPart => 'salt' in part;

/** It still says who some recipients were. */
export const isPartlyErased = (body: StoredBody): body is ErasedContent =>
  body.kind === 'erased' && body.parts?.some(isKeptPart) === true;

/** Why a content is no longer there: the record that takes its place. */
export type RemovedContent = ExpiredContent | ErasedContent;

export const isRemoved = (body: StoredBody | StoredHead): body is RemovedContent =>
  body.kind === 'expired' || body.kind === 'erased';

/** What commands store. */
export type NewBody =
  | MessageBody
  | ReplyText
  | LinkAddress
  | SuppressionEvidence
  | TemplateBody
  | ContactAddress
  | ErasedContent;
export type StoredBody = NewBody | ExpiredContent;
export type StoredHead = Exclude<StoredBody, MessageBody> | MessageHead;

export interface MessageContents {
  /** UUID, random per request. */
  readonly id: string;
  readonly organizationId: string;
  readonly body: NewBody;
  /** `subjectWordDigests`, by which a message is found for as long as its contents are kept. */
  readonly subjectWords?: readonly string[];
}

/** What is no message is its own head. */
export const headOf = (body: StoredBody): StoredHead => {
  if (body.kind !== 'message') return body;
  const { html, text, alternatives, attachments, analysis, findings, shown, salts, ...head } = body;
  return { ...head, attachments: attachments.map(({ content, ...attachment }) => attachment) };
};

export interface Contents {
  /** Stores rows; an id that exists already keeps its first body. Durable when it resolves. */
  put(contents: readonly MessageContents[]): Promise<void>;
  /** Bodies by id; what is missing is absent from the map. Concurrent calls share a query. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredBody>>;
  /** As `get`, without what is large: what is asked for a page of messages or events. */
  heads(ids: readonly string[]): Promise<ReadonlyMap<string, StoredHead>>;
}
