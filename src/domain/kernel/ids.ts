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
  'irt',
  'ers',
  'aud',
  'mbr',
  'ses',
  'psk',
  'inb',
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

export const ID_BYTES = 16;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const CHARACTERS = Math.ceil((ID_BYTES * 8) / 5);
const SHAPE = /^([a-z]{3})_[a-z2-7]{26}$/;

/** Pattern of the ids with this prefix, for schemas. */
export const idPattern = (prefix: IdPrefix): string => `^${prefix}_[a-z2-7]{26}$`;

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

/** Length of the time in an id, in big-endian milliseconds. */
const TIME_BYTES = 6;

/**
 * An id that starts with a time, like a UUIDv7 (RFC 9562 §5.7). Rows created together are adjacent in an index, so that
 * inserts touch few of its pages however large it is.
 * @param atMs milliseconds since 1970.
 * @param bytes at least 10 random bytes.
 */
export const formatTimedId = (prefix: IdPrefix, atMs: number, bytes: Uint8Array): string => {
  const all = Buffer.alloc(ID_BYTES);
  all.writeUIntBE(atMs, 0, TIME_BYTES);
  all.set(bytes.subarray(0, ID_BYTES - TIME_BYTES), TIME_BYTES);
  return formatId(prefix, all);
};

/** The bytes from which `formatId` made this id. */
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

/** Whether the text is a possible id. An impossible id is treated like one that does not exist. */
export const isId = (prefix: IdPrefix, text: string): boolean => SHAPE.exec(text)?.[1] === prefix;
