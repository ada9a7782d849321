import { encodedWords, looksEncoded } from './encoded-word.ts';

const TOKEN = /^[\w!#$&+^`{|}~.-]+$/;
const PRINTABLE = /^[ -~]*$/;
const ATTRIBUTE_CHARACTER = /^[A-Za-z0-9!#$&+.^_`{|}~-]$/;
/** A parameter stands on a line of its own; a longer value is continued (RFC 2231 §3). */
const VALUE_CHARACTERS_MAX = 60;

const percentEncoded = (character: string): string =>
  ATTRIBUTE_CHARACTER.test(character)
    ? character
    : Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

const extended = (name: string, value: string): string => {
  const sections: string[] = [];
  let section = "utf-8''";
  for (const character of value) {
    const encoded = percentEncoded(character);
    if (section.length + encoded.length > VALUE_CHARACTERS_MAX) {
      sections.push(section);
      section = '';
    }
    section += encoded;
  }
  sections.push(section);
  if (sections.length === 1) return `;\r\n ${name}*=${section}`;
  return sections.map((text, index) => `;\r\n ${name}*${index}*=${text}`).join('');
};

const withoutControls = (value: string): string => value.replace(/\p{Cc}/gu, ' ');

/** Some readers decode such a value once more after RFC 2231: no encoding would protect it. */
const undecodable = (value: string): string => (looksEncoded(value) ? value.replaceAll('=?', '=_') : value);

const isPlain = (value: string): boolean => PRINTABLE.test(value) && value.length <= VALUE_CHARACTERS_MAX;

/** A parameter of a MIME header (RFC 2045 §5.1, RFC 2231), with the `;` before it, on a line of its own. */
export const mimeParameter = (name: string, value: string): string => {
  const safe = undecodable(withoutControls(value));
  if (!isPlain(safe)) return extended(name, safe);
  return `;\r\n ${name}=${TOKEN.test(safe) ? safe : `"${safe.replace(/[\\"]/g, '\\$&')}"`}`;
};

/**
 * The name of a file beside a type, for readers that know no RFC 2231: those that look here at all decode RFC 2047, though
 * it is not meant for it. Others take the `filename` of the disposition, which comes first for them.
 */
export const nameParameter = (filename: string): string => {
  const safe = undecodable(withoutControls(filename));
  if (isPlain(safe)) return mimeParameter('name', filename);
  return `;\r\n name="${encodedWords(safe, ' name="'.length)}"`;
};
