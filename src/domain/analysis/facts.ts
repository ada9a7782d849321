import type { HtmlFacts, HtmlProblem, LinkFact } from '../../lib/html/html.ts';
import type { Mailbox, StoredAttachment } from '../../lib/mime/mime.ts';
import type { MessageDraft } from '../message/draft.ts';
import type { DomainFacts } from '../ports/analyzer.ts';
import type { RuleName } from './rule-table.ts';

export interface AttachmentFact {
  /** Its place in the request: `attachments[0]`, `alternatives[0]`. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly contentId?: string;
  /** Absent: `inline` with a content id in mail that has html, else `attachment`. */
  readonly disposition?: StoredAttachment['disposition'];
  /** The first bytes, in hexadecimal. */
  readonly head: string;
}

/** Everything the rules know of a message. */
export interface MessageFacts
  extends Pick<
    MessageDraft,
    'from' | 'replyTo' | 'recipients' | 'subject' | 'text' | 'headers' | 'stream' | 'unsubscribe'
  > {
  readonly html: HtmlFacts | null;
  /** URLs that stand in the plain text. */
  readonly textLinks: readonly LinkFact[];
  readonly attachments: readonly AttachmentFact[];
  readonly domain: DomainFacts;
  readonly sizeBytes: number;
}

/** Mailboxes by the names of the request's fields: `from`, `to[1]`. */
export const mailboxFields = ({ from, replyTo, recipients }: MessageFacts): readonly (readonly [string, Mailbox])[] => {
  const kinds = { reply_to: replyTo, ...Object.groupBy(recipients, ({ kind }) => kind) };
  return [
    ['from', from],
    ...Object.entries(kinds).flatMap(([field, list]) =>
      list.map((mailbox, index) => [list.length === 1 ? field : `${field}[${index}]`, mailbox] as const),
    ),
  ];
};

/** One time that a rule applies. There can be very many, of which few are shown: those tell their message when asked. */
export interface Discovery {
  readonly rule: RuleName;
  readonly field: string;
  /** What and where, as a sentence without its capital and its full stop. */
  readonly message: () => string;
  /** In the field's text: its offset, or its line and column. */
  readonly at?: number | Pick<HtmlProblem, 'line' | 'column'>;
}

/** One family of rules. */
export type Check = (facts: MessageFacts) => Iterable<Discovery>;

/** @param said the message, where making it costs nothing. */
export const discovery = (
  rule: RuleName,
  field: string,
  said: string | (() => string),
  at?: Discovery['at'],
): Discovery => ({
  rule,
  field,
  message: typeof said === 'string' ? () => said : said,
  ...(at === undefined ? {} : { at }),
});
