export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const HTAB = 0x09;
export const EQUALS = 0x3d;
export const PERCENT = 0x25;
export const HYPHEN = 0x2d;

/** Values of hexadecimal digits by their octet; -1: it is none. */
const HEX = new Int8Array(256).fill(-1);
for (const [value, digit] of [...'0123456789ABCDEF'].entries()) {
  HEX[digit.charCodeAt(0)] = value;
  HEX[digit.toLowerCase().charCodeAt(0)] = value;
}

/** The octet that two digits stand for; -1: they do not. */
const octetAt = (bytes: Uint8Array, at: number): number => {
  const [high, low] = [HEX[bytes[at] ?? 0] ?? -1, HEX[bytes[at + 1] ?? 0] ?? -1];
  return high < 0 || low < 0 ? -1 : high * 16 + low;
};

/**
 * Decodes octets that are written as a sign and two hexadecimal digits, in place; what is not written so stays.
 * @returns how many octets they are.
 */
export const decodeSigned = (bytes: Uint8Array, sign: number): number => {
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const octet = bytes[at] === sign ? octetAt(bytes, at + 1) : -1;
    bytes[length] = octet < 0 ? (bytes[at] as number) : octet;
    length += 1;
    if (octet >= 0) at += 2;
  }
  return length;
};
