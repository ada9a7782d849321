/** A TXT record holds strings of at most so many octets (RFC 1035 §3.3). */
const STRING_OCTETS_MAX = 255;

/** A value as name servers' own files have it: strings in quotes that are read as one (RFC 6376 §3.6.2.2). */
export const inStrings = (value: string): string =>
  (value.match(new RegExp(`.{1,${STRING_OCTETS_MAX}}`, 'g')) ?? []).map((part) => `"${part}"`).join(' ');

export const isLong = (value: string): boolean => value.length > STRING_OCTETS_MAX;

/** As much as tells values apart; a longer one costs room in the log and in every process. */
const SHOWN_CHARACTERS_MAX = 500;
/** Of one answer. Whoever has more has a problem that five show as well. */
const SHOWN_VALUES_MAX = 5;
/** Room for a key in strings and what is to be done with it. */
const SENTENCE_CHARACTERS_MAX = 1000;
/** In a sentence. */
const TOLD_CHARACTERS_MAX = 120;

/** Mailboxes, as in the `rua` of DMARC: personal data stays out of the log. */
const LOCAL_PART = /[^\s:;,"'<>@]+@/g;
const CONTROL = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu;

const shortened = (text: string, charactersMax: number): string =>
  text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;

const cleaned = (text: string): string => text.replace(CONTROL, '\u{fffd}').replace(LOCAL_PART, '…@');

/** More than is kept is not even read: a name server may send 64 kB. */
const kept = (text: string, charactersMax: number): string =>
  shortened(cleaned(text.slice(0, charactersMax + 1)), charactersMax);

/** What the DNS answered, as it may be kept and shown: short, without mailboxes and control characters. */
export const shownValues = (texts: readonly string[]): readonly string[] =>
  texts.slice(0, SHOWN_VALUES_MAX).map((text) => kept(text, SHOWN_CHARACTERS_MAX));

/** The same for a sentence, in quotes. */
export const told = (text: string): string => `"${kept(text, TOLD_CHARACTERS_MAX)}"`;

/** One sentence of words that came from elsewhere in part. */
export const asSentence = (words: string): string =>
  kept(`${words.charAt(0).toUpperCase()}${words.slice(1)}.`, SENTENCE_CHARACTERS_MAX);

const QUOTE = /["“”'\\]/;
export const hasQuotes = (text: string): boolean => QUOTE.test(text);
export const withoutQuotes = (text: string): string => text.replace(/["“”'\\]/g, '').trim();
