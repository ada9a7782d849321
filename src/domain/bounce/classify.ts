import type { ReplyStage } from '../ports/mail-transport.ts';
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
  /** Absent: a bounce message says so, which does not tell it. */
  readonly stage?: ReplyStage | undefined;
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

/** Names of headers that a report quotes, `X-Virus-Scanned:`: they say nothing of why. */
const HEADER_NAME = /\bx-[a-z\d]{1,30}(?:-[a-z\d]{1,30}){0,5}:/g;
/** A reply in front of its text, as bounce messages quote it. */
const CODES_BEFORE = /^\s*(?:[45]\d\d[ -])?\s*(?:#?[45]\.\d{1,3}\.\d{1,3}\s)?\s*/;

const plain = (text: string): string =>
  text
    .slice(0, TEXT_CHARACTERS_MAX)
    .replace(CODES_BEFORE, '')
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(ADDRESS, '')
    .replace(HEADER_NAME, '')
    .replace(/\s+/g, ' ');

/**
 * Generic words in front of the reply that was really given. IronPort and Amazon SES: `5.1.0 - Unknown address error
 * 550-'5.7.1 Access denied'`; Exchange Online: `Remote server returned … -> 550 Unknown user`.
 */
const WRAPPED = [
  /\b[45]\.\d\.\d{1,3} - [\w ()]{1,60}\b([45]\d\d)-'([\s\S]{0,1000})'/,
  /\bremote server returned [^>]{1,80} -> ([45]\d\d)[ -]([\s\S]{0,1000})/i,
];
const ENHANCED_BEFORE = /^#?([245]\.\d{1,3}\.\d{1,3})\s+/;

const unwrapped = (reply: ClassifiedReply): ClassifiedReply => {
  const text = reply.text.slice(0, TEXT_CHARACTERS_MAX);
  const [, code, inner] = WRAPPED.map((pattern) => pattern.exec(text)).find((found) => found !== null) ?? [];
  if (code === undefined || inner === undefined) return reply;
  const enhanced = ENHANCED_BEFORE.exec(inner)?.[1] ?? null;
  return { ...reply, code: Number(code), enhanced, text: inner.replace(ENHANCED_BEFORE, '') };
};

interface Plain {
  readonly text: string;
  readonly mx: string;
  readonly status: string;
  readonly stage: ReplyStage | 'report';
}

const byWords = (lines: readonly ReplyWords[], { text, mx, status, stage }: Plain): BounceCategory | undefined =>
  lines.find(
    (line) =>
      line.words.test(text) &&
      (line.mx?.test(mx) ?? true) &&
      (line.status?.test(status) ?? true) &&
      (line.stage === undefined || line.stage === stage),
  )?.category;

/** qmail and Courier write it behind the text: `sorry, no mailbox here by that name (#5.1.1)`; IronPort before it. */
const STATUS_IN_TEXT = /(?:^|[\s(])#([245]\.\d\.\d{1,3})\b/;

const byCode = (codes: readonly StatusCode[]): ReadonlyMap<string, BounceCategory> =>
  new Map(codes.map(({ code, category }) => [code, category]));

const DEFINITE = byCode(STATUS_CODES);
const GENERAL = byCode(VAGUE_STATUS_CODES);

/** Codes that blame the sender, the message or a full mailbox outrank words that would blame the address. */
const OUTRANKING: ReadonlySet<BounceCategory> = new Set([
  'authentication',
  'sender_rejected',
  'reputation',
  'rate_limited',
  'mailbox_full',
  'content_rejected',
]);

/** Others than the recipient that a reply speaks of: its code alone then proves nothing about the address. */
const OF_OTHERS =
  /\b(?:senders?|helo|ehlo|spam|polic(?:y|ies)|permission|subscribers?|members?|blocked|filter(?:ed)?)\b|\byour (?:ip|domain)\b/;

const byBoth = (word: BounceCategory | undefined, code: BounceCategory | undefined, text: string) => {
  if (word !== undefined) return suppresses(word) && code !== undefined && OUTRANKING.has(code) ? code : word;
  return code !== undefined && suppresses(code) && OF_OTHERS.test(text) ? undefined : code;
};

/** Our own sentence about a session: it names what happened, and its words are not a server's. */
const isOurs = ({ code, stage }: ClassifiedReply): boolean => code === 0 && stage !== undefined;

const judge = (reply: ClassifiedReply): BounceCategory | undefined => {
  const { code, enhanced, text, mx, stage = 'report' } = reply;
  const said: Plain = {
    stage,
    text: plain(text),
    mx: mx?.slice(0, HOST_CHARACTERS_MAX).toLowerCase().replace(/\.$/, '') ?? '',
    status: (enhanced ?? STATUS_IN_TEXT.exec(text.slice(0, TEXT_CHARACTERS_MAX))?.[1])?.slice('5.'.length) ?? '',
  };
  if (isOurs(reply)) return DEFINITE.get(said.status) ?? GENERAL.get(said.status);
  return (
    byBoth(byWords(DEFINITE_WORDS, said), DEFINITE.get(said.status), said.text) ??
    byWords(VAGUE_WORDS, said) ??
    GENERAL.get(said.status) ??
    REPLY_CODES[code]
  );
};

const isTemporary = ({ code, enhanced }: ClassifiedReply): boolean =>
  code === 0 ? enhanced?.startsWith('4') === true : code < 500;

/** Before RCPT no address was named: what is said there cannot be about it. */
const isBeforeRecipient = ({ code, stage }: ClassifiedReply): boolean =>
  code > 0 && (stage === 'mail' || stage === 'session');

/**
 * Why a recipient was not delivered to. Plain words come before codes, which many servers use as they please; a code
 * alone is believed where it is definite (5.1.1), and a bare 550 is `unknown`. What may pass is no fault of an address, and
 * neither is what was said before the address.
 */
export const classifyReply = (received: ClassifiedReply): BounceCategory => {
  const reply = unwrapped(received);
  const category = judge(reply);
  if (category === undefined) return 'unknown';
  return suppresses(category) && (isTemporary(reply) || isBeforeRecipient(reply)) ? 'unknown' : category;
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
