import type { MessageDraft } from '../message/draft.ts';
import type { DomainFacts } from '../ports/analyzer.ts';
import type { Mailbox, StoredAttachment } from '../ports/contents.ts';
import type { HtmlProblem } from '../ports/html-checker.ts';
import type { Target } from './hosts.ts';
import type { RuleName } from './rule-table.ts';

/** Where something begins in the text as it was sent, in UTF-16 code units. */
interface Found {
  readonly offset: number;
}

export interface LinkFact extends Found {
  readonly href: string;
  readonly target: Target;
  /** What a reader sees of it, cut after some hundred characters. */
  readonly text: string;
}

export interface ImageFact extends Found {
  readonly src: string;
  readonly target: Target;
  /** Null: it has no such attribute. */
  readonly alt: string | null;
  /** As written, from the attribute or the style. */
  readonly width: string | null;
  readonly height: string | null;
  readonly hidden: boolean;
}

/** Text under one element that no reader sees. */
export interface HiddenTextFact extends Found {
  /** `display: none`. */
  readonly by: string;
  /** White space and fillers not counted. */
  readonly characters: number;
  /** Nothing that is seen stands before it. */
  readonly atStart: boolean;
  /** It has a class or an id by which a style sheet may show it. */
  readonly selectable: boolean;
}

export interface ElementFact extends Found {
  /** `<script>`, `onclick`. */
  readonly what: string;
}

/** A piece of the source in which text stands: neither markup nor CSS nor comment. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** `code`: text that is shown as it is typed, in `<code>`, `<kbd>` or `<samp>`. */
  readonly kind: 'text' | 'code' | 'attribute';
}

/** All that the rules ask of the html, read in one pass. */
export interface HtmlFacts {
  readonly source: string;
  readonly problems: readonly HtmlProblem[];
  /** Names of attributes that their tag has already. */
  readonly repeatedAttributes: readonly ElementFact[];
  /** In the order of the source, as all lists here. */
  readonly links: readonly LinkFact[];
  readonly images: readonly ImageFact[];
  readonly hiddenTexts: readonly HiddenTextFact[];
  /** What runs, asks for input or loads a page. */
  readonly activeContents: readonly ElementFact[];
  readonly externalStyles: readonly ElementFact[];
  readonly spans: readonly Span[];
  /** The beginning of what a reader sees. */
  readonly visibleText: string;
  /** Of all of it; white space and fillers not counted. */
  readonly visibleCharacters: number;
  readonly depth: number;
  /** The html element; null: the source has none. */
  readonly root: (Found & { readonly lang: string }) | null;
  /** A style sheet asks what it is shown on. */
  readonly hasMediaQueries: boolean;
}

export interface AttachmentFact {
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
