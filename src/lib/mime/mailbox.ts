/** Somebody named in a header, and what a message carries besides its text. */

export interface Mailbox {
  readonly address: string;
  readonly name?: string;
}

/** What `List-Unsubscribe` offers (RFC 2369 §3.2), one of the two at least. */
export interface UnsubscribeWays {
  readonly url?: string;
  /** An address, as parsed. */
  readonly mailto?: string;
}

export interface StoredAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly contentId?: string;
  /** Absent: `inline` where the html shows it, otherwise `attachment`; `none`: the field is not written. */
  readonly disposition?: 'attachment' | 'inline' | 'none';
  /** Base64. */
  readonly content: string;
}

/** The message in another form than text and html (RFC 2046 §5.1.4), for programs that know it: an invitation, AMP. */
export interface StoredAlternative extends Omit<StoredAttachment, 'filename'> {
  readonly filename?: string;
  /** A reader that knows both prefers the html. */
  readonly beforeHtml: boolean;
}
