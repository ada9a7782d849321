const SPACE = 0x20;
const TAB = 0x09;
const CR = 0x0d;

const isSpace = (byte: number): boolean => byte === SPACE || byte === TAB;

/**
 * Lines as `relaxed` has them (RFC 6376 §3.4.4 a): white space within a line is one space, at its end none. What has no
 * white space, as base64, is not copied. A loop of our own: searching for the places to change takes, measured, longer.
 * @param bytes whole lines with CRLF.
 */
export const relaxedLines = (bytes: Buffer): Buffer => {
  if (!bytes.includes(SPACE) && !bytes.includes(TAB)) return bytes;
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let isAfterSpace = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (isSpace(byte)) {
      isAfterSpace = true;
      continue;
    }
    if (isAfterSpace && byte !== CR) {
      out[length] = SPACE;
      length += 1;
    }
    isAfterSpace = false;
    out[length] = byte;
    length += 1;
  }
  return out.subarray(0, length);
};
