const GUESSED =
  'Text that names no charset, or US-ASCII, but is valid UTF-8, is UTF-8. The others show other characters.';
const STANDARD =
  'The Encoding Standard reads this label like browsers and mail programs do. The others lose characters.';
const UNQUOTED = 'The name is meant as a whole, although RFC 2045 asks for quotes. The others cut it.';
const ONE_BODY = 'All shown parts are in the html. A text of only some of them would hide the rest.';

/** Samples that our reader reads differently from both other parsers, with the reason. */
export const KEPT_DIFFERENCES: Readonly<Record<string, string>> = {
  '8-bit text in UTF-8 without MIME: text': GUESSED,
  'UTF-8 labelled US-ASCII: text': GUESSED,
  'a name in raw UTF-8: from': 'RFC 6532 allows it. The others show other characters.',
  'an address in raw UTF-8: from': 'RFC 6532 allows it. The others show other characters.',
  'Windows-1252 labelled ISO-8859-1: text': STANDARD,
  'gb2312 with characters of gbk: text': STANDARD,
  'ISO-8859-8-I: text': STANDARD,
  'a field name in capitals and a space before the colon: subject':
    'RFC 5322 §4.5.3 obliges readers to accept the space. The others lose the field.',
  'an encoding with a comment: text': 'RFC 2045 §6.1 allows comments. The others do not decode the part.',
  'a name without quotes: attachments': UNQUOTED,
  'an encoded word without quotes: attachments': UNQUOTED,
  'a text above html: text': ONE_BODY,
  'a text above html: html': ONE_BODY,
  'format=flowed: text': 'RFC 3676 §4.1: paragraphs are joined. The others leave that to their callers.',
};
