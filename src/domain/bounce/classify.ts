import type { ReplyStage } from '../ports/mail-transport.ts';
import { type BounceCategory, suppresses } from './categories.ts';
import type { ReplyWords } from './reply-words.ts';
import { REPLY_CODES, STATUS_CODES, type StatusCode, VAGUE_STATUS_CODES } from './status-codes.ts';
import { MESSAGE_WORDS } from './words/message.ts';
import { RECIPIENT_WORDS } from './words/recipient.ts';
import { SENDER_REPUTATION_WORDS } from './words/sender-reputation.ts';
import { VAGUE_WORDS } from './words/vague.ts';

/** A reply about a recipient, from an SMTP session or a report. */
export interface ClassifiedReply {
  /** 0 if there was no reply code. */
  readonly code: number;
  /** RFC 3463. */
  readonly enhanced: string | null;
  readonly text: string;
  /** Host that sent the reply. */
  readonly mx: string | null;
  /** Absent for a bounce message, which does not say the stage. */
  readonly stage?: ReplyStage | undefined;
}

/**
 * Patterns in order of precedence. Patterns about the sender and the message come first: if a reply says both, a good
 * address must not be blamed.
 */
export const DEFINITE_WORDS: readonly ReplyWords[] = [...SENDER_REPUTATION_WORDS, ...MESSAGE_WORDS, ...RECIPIENT_WORDS];

/** Maximum length of a stored reply. Higher: slower. Lower: the end of long explanations is lost. */
const TEXT_CHARACTERS_MAX = 1000;
/** RFC 1035 §2.3.4. */
const HOST_CHARACTERS_MAX = 255;
/** An address can contain any word, so it is removed before matching. */
const ADDRESS = /[^\s<>()]{1,64}@[^\s<>(),;:]{1,253}/g;

/** Header names quoted in a report, such as `X-Virus-Scanned:`. They do not explain the failure. */
const HEADER_NAME = /\bx-[a-z\d]{1,30}(?:-[a-z\d]{1,30}){0,5}:/g;
/** Codes that bounce messages quote in front of a reply's text. */
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
 * Generic words in front of the real reply. IronPort and Amazon SES: `5.1.0 - Unknown address error 550-'5.7.1 Access
 * denied'`; Exchange Online: `Remote server returned … -> 550 Unknown user`.
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

/**
 * An enhanced code in the text. qmail and Courier write it last: `sorry, no mailbox here by that name (#5.1.1)`;
 * IronPort writes it first.
 */
const STATUS_IN_TEXT = /(?:^|[\s(])#([245]\.\d\.\d{1,3})\b/;

const byCode = (codes: readonly StatusCode[]): ReadonlyMap<string, BounceCategory> =>
  new Map(codes.map(({ code, category }) => [code, category]));

const DEFINITE = byCode(STATUS_CODES);
const GENERAL = byCode(VAGUE_STATUS_CODES);

/** Codes that blame the sender, the message or a full mailbox take precedence over words that blame the address. */
const OUTRANKING: ReadonlySet<BounceCategory> = new Set([
  'authentication',
  'sender_rejected',
  'reputation',
  'rate_limited',
  'mailbox_full',
  'content_rejected',
]);

/**
 * Words that refer to someone or something other than the recipient. The code alone then proves nothing about the
 * address.
 */
const OF_OTHERS =
  /\b(?:senders?|helo|ehlo|spam|polic(?:y|ies)|permission|subscribers?|members?|blocked|filter(?:ed)?)\b|\byour (?:ip|domain)\b/;

const byBoth = (word: BounceCategory | undefined, code: BounceCategory | undefined, text: string) => {
  if (word !== undefined) return suppresses(word) && code !== undefined && OUTRANKING.has(code) ? code : word;
  return code !== undefined && suppresses(code) && OF_OTHERS.test(text) ? undefined : code;
};

/** Whether the text is this service's own description of a session, whose words are not a server's. */
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

/** Whether the reply came before RCPT. Such a reply cannot be about an address. */
const isBeforeRecipient = ({ code, stage }: ClassifiedReply): boolean =>
  code > 0 && (stage === 'mail' || stage === 'session');

/**
 * Classifies why delivery to a recipient failed. Clear words take precedence over codes, which many servers misuse. A
 * code alone is trusted only if it is specific (5.1.1); a bare 550 is `unknown`. Temporary failures and replies before
 * the address was named never blame the address.
 */
export const classifyReply = (received: ClassifiedReply): BounceCategory => {
  const reply = unwrapped(received);
  const category = judge(reply);
  if (category === undefined) return 'unknown';
  return suppresses(category) && (isTemporary(reply) || isBeforeRecipient(reply)) ? 'unknown' : category;
};

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/**
 * Words that ask for another attempt, close enough before a number to refer to it. Another number in between refers to
 * something else.
 */
const ASKING = String.raw`\b(?:try|retry|again|later|come back|back|wait|resend|reconnect|return|gr[ae]y-?listed|deferred|delayed)\b[^\d.;]{0,40}`;
const LENGTH = new RegExp(
  String.raw`(?:${ASKING}?\b(?:in|after|for|another|about|least)\s|\bwait\s|\bretry=)(\d{1,6})\s?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b`,
  'i',
);
/** milter-greylist: `please come back in 00:04:59`. After `at`, it would be a time of day. */
const CLOCK = new RegExp(String.raw`${ASKING}?\bin\s(\d{1,2}):([0-5]\d):([0-5]\d)\b`, 'i');

/** The wait in seconds that a reply's text asks for, as in `try again in 300 seconds`; undefined if it names none. */
export const askedWaitSeconds = (text: string): number | undefined => {
  const said = text.slice(0, TEXT_CHARACTERS_MAX).replace(/\s+/g, ' ');
  const [, hours, minutes, seconds] = CLOCK.exec(said) ?? [];
  if (hours !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  const [, length, unit = ''] = LENGTH.exec(said) ?? [];
  return length === undefined ? undefined : Number(length) * (UNIT_SECONDS[unit.charAt(0).toLowerCase()] ?? 1);
};
