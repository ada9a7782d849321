export interface MimeMessage {
  readonly sizeBytes: number;
  /** The message, some 64 kB at a time. Can be read more than once. */
  readonly chunks: () => Iterable<Buffer>;
}

/** A message before it is signed. */
export interface UnsignedMessage {
  /** Its header fields as written, each with its CRLF, without the empty line after them. */
  readonly head: string;
  /** The content after that line, in whole lines, some 64 kB at a time. Can be read more than once. */
  readonly body: () => Iterable<Buffer>;
  /** Builds the message with further header fields before its own. */
  readonly headed: (fields: string) => MimeMessage;
}
