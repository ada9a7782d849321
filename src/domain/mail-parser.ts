/**
 * PORT: what a raw message (RFC 5322, MIME) says. Nothing of it is checked or bounded beyond its size: whoever acts upon
 * it does that. Adapter: `adapters/mail-parser`.
 */

/** As written, encoded words decoded. */
export interface WrittenAddress {
  /** Empty: none. */
  readonly name: string;
  /** Empty: none could be made out. */
  readonly address: string;
}

export interface ParsedAttachment {
  readonly filename: string | null;
  /** With its parameters, as far as they can be written; without a name. */
  readonly contentType: string;
  /** Without its angle brackets. */
  readonly contentId?: string;
  /** Base64. */
  readonly content: string;
}

export interface ParsedMail {
  /** All of them in their order, unfolded, encoded words decoded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Members of groups are among the others. */
  readonly from: readonly WrittenAddress[];
  readonly to: readonly WrittenAddress[];
  readonly cc: readonly WrittenAddress[];
  readonly replyTo: readonly WrittenAddress[];
  /** All parts that are shown as text, one below the other. Absent: there is none. */
  readonly text?: string;
  readonly html?: string;
  readonly attachments: readonly ParsedAttachment[];
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
