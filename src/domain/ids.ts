/** Ids of resources: `<prefix>_<26 lower-case base32 characters of 16 bytes>` (RFC 4648 §6 alphabet, unpadded). */
export const ID_PREFIXES = [
  'org',
  'key',
  'dom',
  'msg',
  'rcp',
  'evt',
  'tpl',
  'whk',
  'dlv',
  'rpl',
  'inv',
  'sup',
  'top',
  'ers',
  'aud',
  'mbr',
  'ses',
  'psk',
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

export const ID_BYTES = 16;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const CHARACTERS = Math.ceil((ID_BYTES * 8) / 5);
const SHAPE = /^([a-z]{3})_[a-z2-7]{26}$/;

/** @param bytes at least 16; the first 16 are used. */
export const formatId = (prefix: IdPrefix, bytes: Uint8Array): string => {
  let text = `${prefix}_`;
  let buffer = 0;
  let bits = 0;
  for (let index = 0; index < ID_BYTES; index += 1) {
    buffer = ((buffer << 8) | (bytes[index] as number)) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(buffer >>> bits) & 31];
    }
  }
  text += ALPHABET[(buffer << (5 - bits)) & 31];
  return text.slice(0, prefix.length + 1 + CHARACTERS);
};

/** Of the time in an id, big-endian milliseconds. */
const TIME_BYTES = 6;

/**
 * An id that begins with a time, as a UUIDv7 does (RFC 9562 §5.7). What was made at one time lies together in an index, so
 * that new rows touch few pages of it however large it has become.
 * @param atMs since 1970. @param bytes at least 10 random ones.
 */
export const formatTimedId = (prefix: IdPrefix, atMs: number, bytes: Uint8Array): string => {
  const all = Buffer.alloc(ID_BYTES);
  all.writeUIntBE(atMs, 0, TIME_BYTES);
  all.set(bytes.subarray(0, ID_BYTES - TIME_BYTES), TIME_BYTES);
  return formatId(prefix, all);
};

/** The bytes that `formatId` made this id of. */
export const bytesOfId = (id: string): Buffer => {
  const bytes = Buffer.alloc(ID_BYTES);
  let buffer = 0;
  let bits = 0;
  let length = 0;
  for (const character of id.slice(-CHARACTERS)) {
    buffer = ((buffer << 5) | ALPHABET.indexOf(character)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[length] = (buffer >>> bits) & 0xff;
    length += 1;
  }
  return bytes;
};

/** The time that `formatTimedId` put into this id, in milliseconds since 1970. */
export const timeInId = (id: string): number => bytesOfId(id).readUIntBE(0, TIME_BYTES);

/** Whether such an id could ever have been made; one that could not is answered like one that does not exist. */
export const isId = (prefix: IdPrefix, text: string): boolean => SHAPE.exec(text)?.[1] === prefix;
