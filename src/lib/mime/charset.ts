import { isAscii, isUtf8 } from 'node:buffer';

/**
 * Labels without information. Such text is read as UTF-8 if it is valid UTF-8, else as Windows-1252, like mail programs
 * do.
 */
const UNDECLARED = new Set([
  '',
  'us-ascii',
  'ascii',
  'ansi_x3.4-1968',
  'default',
  'unknown',
  'unknown-8bit',
  'x-unknown',
]);
/** Names that mail programs write but the Encoding Standard lacks. */
const ALIASES: Readonly<Record<string, string>> = {
  utf8mb4: 'utf-8',
  utf_8: 'utf-8',
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
};
/** Encodings that hide other characters behind ASCII. */
const STATEFUL = /^hz-|^iso-2022-/;

const charsetDecoder = (charset: string) => {
  try {
    return new TextDecoder(ALIASES[charset] ?? charset);
  } catch {
    return null;
  }
};

const UTF_7 = /^(?:x-)?(?:unicode-1-1-)?utf-?7$/;
const UTF_16 = new TextDecoder('utf-16be');

/** RFC 2152, which the Encoding Standard lacks. `+` begins characters in UTF-16 as base64, and `-` ends them. */
const utf7Decoded = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('latin1')
    .replace(/\+([A-Za-z0-9+/]*)-?/g, (whole, encoded: string) => {
      if (encoded === '') return whole === '+-' ? '+' : whole;
      const units = Buffer.from(encoded, 'base64');
      return UTF_16.decode(units.subarray(0, units.length - (units.length % 2)));
    });

/** Decodes text in a charset, by its name in the mail (empty: none). Null: the charset is not supported. */
export const bytesInCharset = (bytes: Uint8Array, label: string): string | null => {
  const charset = label.trim().toLowerCase();
  if (UNDECLARED.has(charset)) return new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252').decode(bytes);
  if (UTF_7.test(charset)) return utf7Decoded(bytes);
  const decoder = charsetDecoder(charset);
  if (decoder !== null) return decoder.decode(bytes);
  const isPlain = !STATEFUL.test(charset) && (isAscii(bytes) || isUtf8(bytes));
  return isPlain ? new TextDecoder().decode(bytes) : null;
};
