/** Enough to recognise it; an answer stays small. */
const QUOTED_CHARACTERS_MAX = 60;
/** What would move, hide or break the text around it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** The beginning of what a user wrote, in quotes, fit to stand in a sentence. */
export const quoted = (text: string): string => {
  const cut = text.slice(0, QUOTED_CHARACTERS_MAX).toWellFormed().replace(UNSEEN, '').trim();
  return `"${cut}${text.length > QUOTED_CHARACTERS_MAX ? '…' : ''}"`;
};
