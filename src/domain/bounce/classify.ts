import { type BounceCategory, suppresses } from './categories.ts';
import type { ReplyWords } from './reply-words.ts';
import { REPLY_CODES, STATUS_CODES, type StatusCode, VAGUE_STATUS_CODES } from './status-codes.ts';
import { MESSAGE_WORDS } from './words/message.ts';
import { RECIPIENT_WORDS } from './words/recipient.ts';
import { SENDER_REPUTATION_WORDS } from './words/sender-reputation.ts';
import { VAGUE_WORDS } from './words/vague.ts';

/** What was said of a recipient, in a session or in a report. */
export interface ClassifiedReply {
  /** 0 where there was none. */
  readonly code: number;
  /** RFC 3463. */
  readonly enhanced: string | null;
  readonly text: string;
  /** Host that said so. */
  readonly mx: string | null;
}

/**
 * In the order in which they are asked. What is said of the sender and of the message comes first: where a reply says
 * both, a good address must not suffer for it.
 */
export const DEFINITE_WORDS: readonly ReplyWords[] = [...SENDER_REPUTATION_WORDS, ...MESSAGE_WORDS, ...RECIPIENT_WORDS];

/** As many characters as are kept of a reply. More costs time, less loses the end of long explanations. */
const TEXT_CHARACTERS_MAX = 1000;
/** RFC 1035 §2.3.4. */
const HOST_CHARACTERS_MAX = 255;
/** An address may hold any word at all. */
const ADDRESS = /[^\s<>()]{1,64}@[^\s<>(),;:]{1,253}/g;

const plain = (text: string): string =>
  text.slice(0, TEXT_CHARACTERS_MAX).toLowerCase().replaceAll('’', "'").replace(ADDRESS, '').replace(/\s+/g, ' ');

interface Plain {
  readonly text: string;
  readonly mx: string;
  readonly status: string;
}

const byWords = (lines: readonly ReplyWords[], { text, mx, status }: Plain): BounceCategory | undefined =>
  lines.find(
    (line) =>
      line.words.test(text) && (line.mx?.test(mx) ?? true) && (line.status === undefined || line.status === status),
  )?.category;

/** qmail and Courier write it behind the text: `sorry, no mailbox here by that name (#5.1.1)`. */
const STATUS_BEHIND = /\(#([245]\.\d\.\d{1,3})\b/;

const byCode = (codes: readonly StatusCode[]): ReadonlyMap<string, BounceCategory> =>
  new Map(codes.map(({ code, category }) => [code, category]));

const DEFINITE = byCode(STATUS_CODES);
const GENERAL = byCode(VAGUE_STATUS_CODES);

const judge = ({ code, enhanced, text, mx }: ClassifiedReply): BounceCategory | undefined => {
  const said: Plain = {
    text: plain(text),
    mx: mx?.slice(0, HOST_CHARACTERS_MAX).toLowerCase().replace(/\.$/, '') ?? '',
    status: (enhanced ?? STATUS_BEHIND.exec(text.slice(0, TEXT_CHARACTERS_MAX))?.[1])?.slice('5.'.length) ?? '',
  };
  return (
    byWords(DEFINITE_WORDS, said) ??
    DEFINITE.get(said.status) ??
    byWords(VAGUE_WORDS, said) ??
    GENERAL.get(said.status) ??
    REPLY_CODES[code]
  );
};

const isTemporary = ({ code, enhanced }: ClassifiedReply): boolean =>
  code === 0 ? enhanced?.startsWith('4') === true : code < 500;

/**
 * Why a recipient was not delivered to. Plain words come before codes, which many servers use as they please; a code
 * alone is believed where it is definite (5.1.1), and a bare 550 is `unknown`. What may pass is no fault of an address.
 */
export const classifyReply = (reply: ClassifiedReply): BounceCategory => {
  const category = judge(reply);
  if (category === undefined || (isTemporary(reply) && suppresses(category))) return 'unknown';
  return category;
};

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** Words that ask for another try, near enough before a number to be about it; a number between them is about something else. */
const ASKING = String.raw`\b(?:try|retry|again|later|come back|back|wait|resend|reconnect|return|gr[ae]y-?listed|deferred|delayed)\b[^\d.;]{0,40}`;
const LENGTH = new RegExp(
  String.raw`(?:${ASKING}?\b(?:in|after|for|another|about|least)\s|\bwait\s|\bretry=)(\d{1,6})\s?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b`,
  'i',
);
/** milter-greylist: `please come back in 00:04:59`. After `at` it would be a time of day. */
const CLOCK = new RegExp(String.raw`${ASKING}?\bin\s(\d{1,2}):([0-5]\d):([0-5]\d)\b`, 'i');

/** The wait that the text of a reply names, `try again in 300 seconds`, in seconds; undefined: none. */
export const askedWaitSeconds = (text: string): number | undefined => {
  const said = text.slice(0, TEXT_CHARACTERS_MAX).replace(/\s+/g, ' ');
  const [, hours, minutes, seconds] = CLOCK.exec(said) ?? [];
  if (hours !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  const [, length, unit = ''] = LENGTH.exec(said) ?? [];
  return length === undefined ? undefined : Number(length) * (UNIT_SECONDS[unit.charAt(0).toLowerCase()] ?? 1);
};
