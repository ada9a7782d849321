import { type Check, type Discovery, discovery } from '../discovery.ts';
import { quoted } from '../text/quoted.ts';
import { seenCharacters } from '../text/seen-characters.ts';

/** RFC 5322 §2.1.1, and about what readers on a large screen show. */
const CHARACTERS_SHOWN = 78;
/** Nobody shows this much; some filters count it against the mail. */
const CHARACTERS_MAX = 150;
/** Shorter ones are often all abbreviations (`USA: FAQ`). */
const LETTERS_MIN = 10;
const CAPITALS_SHARE_MAX = 0.7;

const CAPITAL = /\p{Lu}/gu;
const SMALL = /\p{Ll}/gu;
const REPEATED_MARKS = /[!?！？]{3}|\${3}/;
/** In the languages that mail programs write it in. */
const REPLY = /^\s*(?:re|aw|sv|vs|rif|odp|ynt|fwd?|wg|vb|tr|rv|enc|doorst)\s?(?:\[\d{1,3}\])?\s?[:：]/i;
const ANSWERS = new Set(['in-reply-to', 'references']);

const isShouted = (subject: string): boolean => {
  const capitals = subject.match(CAPITAL)?.length ?? 0;
  const letters = capitals + (subject.match(SMALL)?.length ?? 0);
  return letters >= LETTERS_MIN && capitals > letters * CAPITALS_SHARE_MAX;
};

function* length(text: string): Generator<Discovery> {
  const said = `the subject has ${text.length} characters`;
  if (text.length > CHARACTERS_MAX) yield discovery('subject-too-long', 'subject', said);
  else if (text.length > CHARACTERS_SHOWN) yield discovery('subject-long', 'subject', said);
}

function* shouting(text: string): Generator<Discovery> {
  if (isShouted(text)) yield discovery('subject-shouting', 'subject', `the subject ${quoted(text)} is all capitals`);
  const marks = REPEATED_MARKS.exec(text)?.[0];
  if (marks !== undefined) yield discovery('subject-shouting', 'subject', `the subject contains ${quoted(marks)}`);
}

/** The line that decides whether the mail is opened. */
export const subject: Check = function* ({ subject: text, headers }) {
  if (seenCharacters(text) === 0) {
    yield discovery('subject-blank', 'subject', 'the subject has no character that can be seen');
    return;
  }
  yield* length(text);
  yield* shouting(text);
  const prefix = REPLY.exec(text)?.[0];
  if (prefix !== undefined && !Object.keys(headers).some((name) => ANSWERS.has(name.toLowerCase()))) {
    const said = `the subject begins with ${quoted(prefix)}, but the mail says of no message that it answers it`;
    yield discovery('subject-fake-reply', 'subject', said);
  }
};
