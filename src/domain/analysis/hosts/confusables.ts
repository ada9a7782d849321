/**
 * Letters that look like an ASCII letter in most fonts (from Unicode UTS #39, confusables.txt; those that come in host
 * names). Diacritics are not among them: whoever writes `müller` means it.
 */
const PAIRS =
  // Cyrillic
  'аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw ӏl кk ԍg ѵv ' +
  // Greek
  'οo αa νv ρp ιi κk υu χx γy σo ηn ' +
  // Armenian
  'օo ոn սu հh ցg զq ' +
  // Latin letters of phonetics
  'ɑa ɡg ɩi ʋu ᴏo ᴠv ᴡw ᴢz ꜱs';

/** Letter by what it looks like. */
export const CONFUSABLES: ReadonlyMap<string, string> = new Map(
  PAIRS.split(' ').map((pair) => [pair.slice(0, -1), pair.slice(-1)] as const),
);
