/**
 * Contents of a raw message (RFC 5322, MIME). Nothing is checked or bounded beyond its size: callers that act upon it must
 * do that.
 */

/** As written, encoded words decoded. */
export interface WrittenAddress {
  /** Empty: none. */
  readonly name: string;
  /** Empty: none could be made out. */
  readonly address: string;
}

/** A part that is not shown as text or html. */
export interface ParsedPart {
  readonly filename: string | null;
  /** With its parameters, but for its name, on one line. */
  readonly contentType: string;
  /** Without its angle brackets. */
  readonly contentId?: string;
  /** Null: none is given. */
  readonly disposition: 'attachment' | 'inline' | null;
  /** Of a message: it can be carried as it stands, see `isSevenBit`. */
  readonly isSevenBit?: boolean;
  /** Base64 of the bytes that its transfer encoding stands for. */
  readonly content: string;
}

/** Says the same as text and html in another form (RFC 2046 §5.1.4): an invitation, AMP. */
export interface ParsedAlternative extends ParsedPart {
  readonly beforeHtml: boolean;
}

export interface ParsedMail {
  /** All of them in their order, unfolded, without HTAB, encoded words decoded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Members of groups are among the others; a group without members is a name without an address. */
  readonly from: readonly WrittenAddress[];
  readonly to: readonly WrittenAddress[];
  readonly cc: readonly WrittenAddress[];
  readonly replyTo: readonly WrittenAddress[];
  /** All parts that are shown as text, one below the other. Absent: there is none. */
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
   * @param chunks the message in pieces, which nobody changes any more.
   * @param organizationId those with work waiting take turns.
   * @returns what it says, or why it cannot be read, in a phrase.
   * @throws {MailParserUnavailable}
   */
  parse(chunks: readonly Uint8Array[], organizationId: string): Promise<ParsedMail | string>;
  close(): Promise<void>;
}
