import type { SigningKey } from '../../../domain/signing-key.ts';

/** RFC 5322 §2.1.1, without the CRLF. */
const LINE_CHARACTERS = 78;
const FOLD = '\r\n ';
const FIELD = 'DKIM-Signature:';

/** As many words on a line as fit, with `glue` between them. Each line begins with the space that folds it. */
const fill = (words: readonly string[], glue: string): string => {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const longer = line === '' ? word : line + glue + word;
    if (longer.length >= LINE_CHARACTERS && line !== '') lines.push(line);
    line = longer.length < LINE_CHARACTERS ? longer : word;
  }
  return [...lines, line].join(FOLD);
};

const inLines = (base64: string, tag: string): string => {
  const first = LINE_CHARACTERS - tag.length - 1;
  let text = tag + base64.slice(0, first);
  for (let at = first; at < base64.length; at += LINE_CHARACTERS - 1) {
    text += FOLD + base64.slice(at, at + LINE_CHARACTERS - 1);
  }
  return text;
};

export interface SignatureTags {
  readonly names: readonly string[];
  readonly bodyHash: string;
  readonly signedAt: number;
  readonly expiresAt: number;
}

/** The value of a `DKIM-Signature` (RFC 6376 §3.5), folded, up to and with its empty `b=`. */
export const signatureValue = (
  { algorithm, domain, selector }: SigningKey,
  { names, bodyHash, signedAt, expiresAt }: SignatureTags,
): string => {
  // The first tag stays on the name's line: a first line without a value is lost on some readers.
  const tags = [`${FIELD} v=1;`, `a=${algorithm};`, 'c=relaxed/relaxed;', `d=${domain};`, `s=${selector};`];
  const times = [`t=${signedAt};`, `x=${expiresAt};`];
  const listed = names.map((name, index) => `${index === 0 ? 'h=' : ''}${name}${index < names.length - 1 ? ':' : ';'}`);
  const lines = [fill([...tags, ...times], ' '), fill(listed, ''), `bh=${bodyHash};`, 'b='];
  return lines.join(FOLD).slice(FIELD.length);
};

/** @param value of `signatureValue`. */
export const signatureHeader = (value: string, signature: string): string =>
  `${FIELD}${value.slice(0, -'b='.length)}${inLines(signature, 'b=')}\r\n`;
