import type { HtmlFacts, HtmlProblem, LinkFact } from '../../lib/html/html.ts';
import type { Mailbox, StoredAttachment } from '../../lib/mime/mime.ts';
import type { MessageDraft } from '../message/draft.ts';
import type { DomainFacts } from '../ports/analyzer.ts';
import type { RuleName } from './rule-table.ts';

export interface AttachmentFact {
  /** Place in the request: `attachments[0]`, `alternatives[0]`. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly contentId?: string;
  /** If absent: `inline` for a content id in mail with HTML, otherwise `attachment`. */
  readonly disposition?: StoredAttachment['disposition'];
  /** The first bytes, in hexadecimal. */
  readonly head: string;
}

/** Input of the rules. */
export interface MessageFacts
  extends Pick<
    MessageDraft,
    'from' | 'replyTo' | 'recipients' | 'subject' | 'text' | 'headers' | 'stream' | 'unsubscribe'
  > {
  readonly html: HtmlFacts | null;
  /** URLs in the plain text. */
  readonly textLinks: readonly LinkFact[];
  readonly attachments: readonly AttachmentFact[];
  readonly domain: DomainFacts;
  readonly sizeBytes: number;
}

/** Mailboxes under the names of their request fields: `from`, `to[1]`. */
export const mailboxFields = ({ from, replyTo, recipients }: MessageFacts): readonly (readonly [string, Mailbox])[] => {
  const kinds = { reply_to: replyTo, ...Object.groupBy(recipients, ({ kind }) => kind) };
  return [
    ['from', from],
    ...Object.entries(kinds).flatMap(([field, list]) =>
      list.map((mailbox, index) => [list.length === 1 ? field : `${field}[${index}]`, mailbox] as const),
    ),
  ];
};

/** One match of a rule. There can be very many and few are shown, so the message is built on demand. */
export interface Discovery {
  readonly rule: RuleName;
  readonly field: string;
  /** The problem and its place, as a sentence without its capital letter and full stop. */
  readonly message: () => string;
  /** Place in the field's text: an offset, or a line and column. */
  readonly at?: number | Pick<HtmlProblem, 'line' | 'column'>;
}

/** One family of rules. */
export type Check = (facts: MessageFacts) => Iterable<Discovery>;

/** @param said the message, or a function if building it is expensive. */
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
