import type { ReplyStage } from '../ports/mail.ts';
import { type BounceCategory, suppresses } from './categories.ts';
import { EXCHANGE, EXIM, GMAIL, GMX, POSTFIX, QMAIL, type ReplyWords, SENDMAIL, saying, YAHOO } from './reply-words.ts';
import { MESSAGE_WORDS } from './words/message.ts';
import { RECIPIENT_WORDS } from './words/recipient.ts';
import { SENDER_REPUTATION_WORDS } from './words/sender-reputation.ts';

/** Category of an enhanced status code when the words are not conclusive. */
interface StatusCode {
  /** Subject and detail, such as `1.1`. The class only says whether the failure is permanent. */
  readonly code: string;
  readonly category: BounceCategory;
  readonly source: string;
}

const rfc3463 = (clause: string, category: BounceCategory, ...codes: readonly string[]): readonly StatusCode[] =>
  codes.map((code) => ({ code, category, source: `RFC 3463 §${clause}` }));

const of = (source: string, category: BounceCategory, ...codes: readonly string[]): readonly StatusCode[] =>
  codes.map((code) => ({ code, category, source }));

/** Codes with a specific meaning. */
export const STATUS_CODES: readonly StatusCode[] = [
  ...rfc3463('3.2', 'no_mailbox', '1.1', '1.3'),
  ...rfc3463('3.2', 'no_domain', '1.2'),
  ...rfc3463('3.2', 'mailbox_disabled', '1.6'),
  ...rfc3463('3.2', 'sender_rejected', '1.7', '1.8'),
  ...of('RFC 7505 §4.1', 'no_domain', '1.10'),
  ...rfc3463('3.3', 'mailbox_disabled', '2.1'),
  ...rfc3463('3.3', 'mailbox_full', '2.2'),
  ...rfc3463('3.3', 'too_large', '2.3'),
  ...rfc3463('3.3', 'system', '2.4'),
  ...rfc3463('3.4', 'system', '3.1', '3.2', '3.5'),
  ...rfc3463('3.4', 'protocol', '3.3'),
  ...rfc3463('3.4', 'too_large', '3.4'),
  ...rfc3463('3.5', 'network', '4.1', '4.2', '4.3', '4.4', '4.7'),
  ...rfc3463('3.5', 'system', '4.5', '4.6'),
  ...rfc3463('3.6', 'protocol', '5.1', '5.2', '5.4', '5.5'),
  ...rfc3463('3.6', 'rate_limited', '5.3'),
  ...rfc3463('3.7', 'content_rejected', '6.1', '6.2'),
  ...rfc3463('3.7', 'protocol', '6.3', '6.4', '6.5'),
  ...of('RFC 6531 §4.3', 'protocol', '6.7'),
  ...rfc3463('3.8', 'policy', '7.2'),
  ...of('RFC 4954 §6', 'authentication', '7.8', '7.9'),
  ...of('RFC 3207, registered as X.7.10', 'policy', '7.10'),
  ...of('RFC 7293 §5', 'mailbox_disabled', '7.17', '7.18'),
  ...of('RFC 7372 §3', 'authentication', '7.20', '7.21', '7.22', '7.23', '7.24', '7.25', '7.26'),
  ...of('RFC 7505 §4.2', 'sender_rejected', '7.27'),
  ...of('IANA, SMTP enhanced status codes: mail flood', 'rate_limited', '7.28'),
  ...of('RFC 8617, registered as X.7.29', 'authentication', '7.29'),
  ...of(EXCHANGE, 'authentication', '7.509', '7.515'),
  ...of(EXCHANGE, 'reputation', '7.511', '7.606', '7.607', '7.649', '7.708'),
  ...of(EXCHANGE, 'rate_limited', '7.500', '7.650', '7.651', '7.652', '7.653', '7.654'),
];

/** Codes that servers use for anything within their subject. They rank below the vague words. */
export const VAGUE_STATUS_CODES: readonly StatusCode[] = [
  ...rfc3463('3.4', 'system', '3.0'),
  ...rfc3463('3.5', 'network', '4.0'),
  ...rfc3463('3.6', 'protocol', '5.0'),
  ...rfc3463('3.8', 'policy', '7.0', '7.1'),
];

/** Reply codes that are conclusive alone. Most are not, least of all 550. */
export const REPLY_CODES: Readonly<Record<number, BounceCategory>> = {
  /** RFC 5321 §4.2.3: service not available, local error, insufficient storage. */
  421: 'system',
  451: 'system',
  452: 'system',
  /** RFC 5321 §4.2.3: command not recognized, or out of order. */
  500: 'protocol',
  501: 'protocol',
  502: 'protocol',
  503: 'protocol',
  504: 'protocol',
  /** RFC 4954 §6. */
  530: 'authentication',
  534: 'authentication',
  535: 'authentication',
  538: 'authentication',
  /** RFC 7504 §4. */
  556: 'no_domain',
};

const policy = saying('policy');
const system = saying('system');
const network = saying('network');
const protocol = saying('protocol');

/** Words that servers use for many causes. A more specific status code takes precedence. */
export const VAGUE_WORDS: readonly ReplyWords[] = [
  protocol(/syntax error|syntax or protocol error|synchronization error/, EXIM, '554 SMTP synchronization error'),
  protocol(
    /command (?:not|unrecogni[sz]ed)|bad sequence|protocol (?:error|violation)|bare (?:lf|linefeed|newline)/,
    GMAIL,
    '451 4.5.0 SMTP protocol violation, see RFC 2821',
  ),
  protocol(/rfc ?-?(?:2821|2822|5321|5322|822)\b/, GMAIL, '550 5.7.1 This message is not RFC 5322 compliant'),
  protocol(/smtputf8|outside ascii/, 'RFC 6531 §3.5', '553 SMTPUTF8 is not supported'),

  network(
    /connection (?:timed out|refused|reset|closed|dropped|expired)|lost connection|timed out|no route to host|unreachable/,
    POSTFIX,
    '0 4.4.1 connect to mx.example.com[192.0.2.1]:25: Connection timed out',
  ),
  network(
    /wasn't able to establish an smtp connection/,
    QMAIL,
    "0 4.4.1 Sorry, I wasn't able to establish an SMTP connection. (#4.4.1)",
  ),
  network(
    /name service error|host not found, try again|dns (?:error|failure|timeout)|servfail/,
    POSTFIX,
    '0 Host not found, try again',
  ),
  network(
    /retry time.{0,20}(?:exceeded|reached)|retry timeout exceeded|did not accept our requests to connect/,
    EXIM,
    '0 retry time not reached for any host',
  ),
  network(/\btls\b.{0,30}(?:fail|handshake|error)|certificate/, POSTFIX, '0 Server certificate not trusted'),

  system(/mail loop|loops back to|routing loop/, POSTFIX, '554 5.4.6 mail for b.test loops back to myself'),
  system(
    /not accepting (?:connections|network messages|mail)|service (?:is |currently )?(?:not available|unavailable)/,
    POSTFIX,
    '554 mx.example.com ESMTP not accepting connections',
  ),
  system(
    /server busy|resources temporarily unavailable/,
    YAHOO,
    '451 Resources temporarily unavailable. Please try again later [#4.16.1]',
  ),
  system(
    /temporary (?:system|local|lookup|server|mail)|temporarily (?:rejected|unavailable|deferred)/,
    GMAIL,
    '451 4.3.0 Mail server temporarily rejected message',
  ),
  system(
    /insufficient (?:system|disk)|out of memory|disk full/,
    SENDMAIL,
    '452 4.4.5 Insufficient disk space; try again later',
  ),
  system(
    /(?:internal|local|configuration) (?:server )?(?:error|problem|failure)/,
    EXCHANGE,
    '451 4.3.0 Local error in processing',
  ),
  system(/try (?:again )?later|come back later/, GMX, '450 Requested mail action not taken: please try again later'),

  policy(/polic(?:y|ies)/, GMX, '554 Transaction failed Reject due to policy restrictions'),
  policy(
    /access denied|prohibited|restricted|not allowed|not permitted|not authori[sz]ed/,
    EXCHANGE,
    '550 Access denied, see the administrator',
  ),
  policy(/\bblocked\b/, POSTFIX, '554 Blocked here'),
];

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
