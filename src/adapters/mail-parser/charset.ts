import { isAscii, isUtf8 } from 'node:buffer';

/** Labels that say nothing: what has one is UTF-8 where it can be, else Windows-1252, as readers take it. */
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
/** Names that mail programs write and the Encoding Standard does not have. */
const ALIASES: Readonly<Record<string, string>> = {
  utf8mb4: 'utf-8',
  utf_8: 'utf-8',
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
};
/** They hide other characters behind ASCII. */
const STATEFUL = /utf-7|^hz-|^iso-2022-/;

const decoderOf = (charset: string) => {
  try {
    return new TextDecoder(ALIASES[charset] ?? charset);
  } catch {
    return null;
  }
};

/** Text in a charset, by the name mail gives it (empty: none); null: nobody here knows it. */
export const bytesInCharset = (bytes: Uint8Array, label: string): string | null => {
  const charset = label.trim().toLowerCase();
  if (UNDECLARED.has(charset)) return new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252').decode(bytes);
  const decoder = decoderOf(charset);
  if (decoder !== null) return decoder.decode(bytes);
  const isPlain = !STATEFUL.test(charset) && (isAscii(bytes) || isUtf8(bytes));
  return isPlain ? new TextDecoder().decode(bytes) : null;
};
