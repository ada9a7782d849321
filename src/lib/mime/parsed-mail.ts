/**
 * Contents of a raw message (RFC 5322, MIME). Nothing is checked or bounded beyond its size: callers that act on it
 * must do that.
 */

/** Address as written, with encoded words decoded. */
export interface WrittenAddress {
  /** Empty: no name. */
  readonly name: string;
  /** Empty: no address could be parsed. */
  readonly address: string;
}

/** A part that is not shown as text or html. */
export interface ParsedPart {
  readonly filename: string | null;
  /** Type with its parameters except the name, on one line. */
  readonly contentType: string;
  /** Without its angle brackets. */
  readonly contentId?: string;
  /** Null: no disposition. */
  readonly disposition: 'attachment' | 'inline' | null;
  /** For an attached message: true if it can be sent unchanged, see `isSevenBit`. */
  readonly isSevenBit?: boolean;
  /** Base64 of the bytes after transfer decoding. */
  readonly content: string;
}

/** Another form of the text and html with the same meaning (RFC 2046 §5.1.4): an invitation, AMP. */
export interface ParsedAlternative extends ParsedPart {
  readonly beforeHtml: boolean;
}

export interface ParsedMail {
  /** All headers in their order, unfolded, without HTAB, encoded words decoded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Members of groups are included. A group without members is a name without an address. */
  readonly from: readonly WrittenAddress[];
  readonly to: readonly WrittenAddress[];
  readonly cc: readonly WrittenAddress[];
  readonly replyTo: readonly WrittenAddress[];
  /** All parts shown as text, one below the other. Absent: no such part. */
  readonly text?: string;
  readonly html?: string;
  readonly alternatives: readonly ParsedAlternative[];
  readonly attachments: readonly ParsedPart[];
  /** Subtypes of its multiparts: `signed`. */
  readonly multiparts: readonly string[];
}

/** The message was not parsed in time, or too many wait for it. */
export class MailParserUnavailable extends Error {
  override readonly name = 'MailParserUnavailable';
}

export interface MailParser {
  /**
   * @param chunks the message in pieces, which must not change any more.
   * @param organizationId organizations with waiting work take turns.
   * @returns the contents, or the reason why it cannot be read, as a phrase.
   * @throws {MailParserUnavailable}
   */
  parse(chunks: readonly Uint8Array[], organizationId: string): Promise<ParsedMail | string>;
  close(): Promise<void>;
}
