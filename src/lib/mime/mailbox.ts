/** A mailbox named in a header, and the content of a message besides its text. */

export interface Mailbox {
  readonly address: string;
  readonly name?: string;
}

/** Contents of `List-Unsubscribe` (RFC 2369 §3.2). At least one of the two is present. */
export interface UnsubscribeWays {
  readonly url?: string;
  /** A parsed address. */
  readonly mailto?: string;
}

export interface StoredAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly contentId?: string;
  /** Absent: `inline` if the html shows it, otherwise `attachment`. `none`: the field is not written. */
  readonly disposition?: 'attachment' | 'inline' | 'none';
  /** Base64. */
  readonly content: string;
}

/** The message in another form than text and html (RFC 2046 §5.1.4), for programs that know it: an invitation, AMP. */
export interface StoredAlternative extends Omit<StoredAttachment, 'filename'> {
  readonly filename?: string;
  /** A reader that knows both forms prefers the html. */
  readonly beforeHtml: boolean;
}
