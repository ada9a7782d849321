export interface MimeMessage {
  readonly sizeBytes: number;
  /** The message, some 64 kB at a time; may be asked for again. */
  readonly chunks: () => Iterable<Buffer>;
}

/** What is signed before it becomes a message to send. */
export interface UnsignedMessage {
  /** Its header fields as they are written, each with its CRLF, without the empty line after them. */
  readonly head: string;
  /** What follows that line, in whole lines, some 64 kB at a time; may be asked for again. */
  readonly body: () => Iterable<Buffer>;
  /** The message with further header fields before its own. */
  readonly headed: (fields: string) => MimeMessage;
}
