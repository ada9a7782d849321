import type { HtmlFacts, HtmlProblem, LinkFact } from '../../lib/html/html.ts';
import type { Mailbox, StoredAttachment } from '../../lib/mime/mime.ts';
import type { MessageDraft } from '../message/draft.ts';
import type { RecordState } from '../sending-domain/events.ts';
import type { Analysis, RuleName } from './analysis.ts';

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

/**
 * PORT: analyses a message before it is sent. The same message always gets the same analysis, because nothing is looked
 * up.
 * Adapter: `adapters/html`.
 */

/** Known facts about the sending domain. An analysis makes no DNS queries. */
export interface DomainFacts {
  readonly name: string;
  readonly verified: boolean;
  /** True if mail stays on this machine, so that no receiver will query the domain's records. */
  readonly capturing: boolean;
  readonly spf: RecordState;
  readonly dkim: RecordState;
  readonly dmarc: RecordState;
}

export interface AnalyzedMessage {
  readonly draft: MessageDraft;
  readonly domain: DomainFacts;
}

export interface Analyzer {
  /**
   * Analyses a message.
   * @param organizationId organizations with waiting work take turns.
   * @throws {AnalysisUnavailable} if its turn did not come in time.
   * @throws {DomainError} `invalid_request` if it takes too long.
   */
  analyze(subject: AnalyzedMessage, organizationId: string): Promise<Analysis>;
  close(): Promise<void>;
}

/** A fault of this service. A retry may succeed. */
export class AnalysisUnavailable extends Error {
  override readonly name = 'AnalysisUnavailable';
}
