const HEAD_END = '\r\n\r\n';
/** Offset of the status in `HTTP/1.1 202 …` (RFC 9112 §4). */
const STATUS_AT = 9;
const STATUS_DIGITS = 3;
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const NOTHING = Buffer.alloc(0);

interface Head {
  readonly status: number;
  /** Offset of the end of the response. */
  readonly end: number;
}

const headOf = (buffer: Buffer): Head | null => {
  const headEnd = buffer.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const head = buffer.toString('latin1', 0, headEnd);
  const length = LENGTH.exec(head)?.[1];
  if (length === undefined) throw new Error(`an answer without Content-Length: ${head.slice(0, 200)}`);
  const status = Number(head.slice(STATUS_AT, STATUS_AT + STATUS_DIGITS));
  return { status, end: headEnd + HEAD_END.length + Number(length) };
};

/**
 * Reads responses with a content length and supports nothing else of HTTP, because the load generator shares the
 * machine with the server that it measures. Chunks may be overwritten after the call.
 */
export const createResponseReader = (onAnswer: (status: number) => void): ((chunk: Buffer) => void) => {
  let rest: Buffer = NOTHING;
  return (chunk) => {
    let buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    rest = NOTHING;
    while (buffer.length > 0) {
      const head = headOf(buffer);
      if (head === null || head.end > buffer.length) {
        rest = Buffer.from(buffer);
        return;
      }
      buffer = buffer.subarray(head.end);
      onAnswer(head.status);
    }
  };
};
