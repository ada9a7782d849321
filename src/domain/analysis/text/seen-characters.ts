/** White space, and characters that take no room or look like none: preheaders are filled up with them. */
const UNSEEN = /(?:[\s\p{Cf}\u2800]|[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0])+/gu;

/** How many characters of a text anybody sees. */
export const seenCharacters = (text: string): number => text.replace(UNSEEN, '').length;
