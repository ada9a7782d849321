const HEAD_END = '\r\n\r\n';
/** `HTTP/1.1 202 …` (RFC 9112 §4). */
const STATUS_AT = 9;
const STATUS_DIGITS = 3;
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const NOTHING = Buffer.alloc(0);

interface Head {
  readonly status: number;
  /** Where the answer ends. */
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
 * Reads answers whose length is told, and nothing else of HTTP: a load shares the machine with what it measures.
 * The chunks that it is given may be overwritten afterwards.
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
