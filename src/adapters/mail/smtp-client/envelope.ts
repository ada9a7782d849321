import { parseReply, type SmtpReply, type SmtpStage } from './reply.ts';

/** RFC 3461 §4: what stands for itself in xtext. */
const NOT_XCHAR = /[^!-*,-<>-~]/g;
/** RFC 6533 §3: what stands for itself in an address that may hold any character. */
const NOT_QCHAR = /[^!-*,-<>-[\]-~]/gu;

/** RFC 3461 §4.4 and §4.2: longer values are refused. */
const ENVID_CHARACTERS_MAX = 100;
const ORCPT_CHARACTERS_MAX = 500;

const hexOf = (code: number, digits: number): string => code.toString(16).toUpperCase().padStart(digits, '0');

const xtext = (text: string): string => text.replace(NOT_XCHAR, (each) => `+${hexOf(each.charCodeAt(0), 2)}`);

/** In ASCII, so that it means the same after a hop without SMTPUTF8. */
const utf8AddressXtext = (text: string): string =>
  text.replace(NOT_QCHAR, (each) => `\\x{${hexOf(each.codePointAt(0) ?? 0, 2)}}`);

/**
 * What a report about this message shall hold and be known by (RFC 3461 §4.3, §4.4).
 * @param id a Message-ID may have its angle brackets; a report names it without them.
 */
export const dsnOfMail = (id: string): string => {
  const envid = xtext(id.replace(/^<|>$/g, ''));
  const isSayable = envid !== '' && envid.length <= ENVID_CHARACTERS_MAX && !NON_ASCII.test(id);
  return ` RET=HDRS${isSayable ? ` ENVID=${envid}` : ''}`;
};

/** That a report is wanted where the message cannot be delivered, and about whom (RFC 3461 §4.1, §4.2; RFC 6533 §3). */
export const dsnOfRecipient = (address: string): string => {
  const original = NON_ASCII.test(address) ? `utf-8;${utf8AddressXtext(address)}` : `rfc822;${xtext(address)}`;
  return ` NOTIFY=FAILURE${original.length <= ORCPT_CHARACTERS_MAX ? ` ORCPT=${original}` : ''}`;
};

export interface SmtpEnvelope {
  readonly from: string;
  /** Each once. */
  readonly to: readonly string[];
  /** What a report about the message is to be known by; a Message-ID may have its angle brackets. */
  readonly id?: string;
}

/** What the server said that it can do (RFC 5321 §4.1.1.1). */
export interface SmtpExtensions {
  /** RFC 2920. */
  readonly pipelining: boolean;
  /** RFC 6531. */
  readonly utf8: boolean;
  /** RFC 6152. */
  readonly eightBit: boolean;
  /** RFC 3461. */
  readonly dsn: boolean;
  /** RFC 3030: `BDAT`. */
  readonly chunking: boolean;
  /** RFC 1870; `sizeBytesMax` 0: it named no limit. */
  readonly size: boolean;
  readonly sizeBytesMax: number;
}

const SIZE = /^SIZE(?:[ \t]+(\d+))?/i;

/** @param lines of the answer to EHLO, without their codes. */
export const readExtensions = (lines: readonly string[]): SmtpExtensions => {
  const has = (keyword: RegExp): boolean => lines.some((line) => keyword.test(line));
  return {
    pipelining: has(/^PIPELINING\b/i),
    utf8: has(/^SMTPUTF8\b/i),
    eightBit: has(/^8BITMIME\b/i),
    dsn: has(/^DSN\b/i),
    chunking: has(/^CHUNKING\b/i),
    size: has(SIZE),
    sizeBytesMax: Number(lines.flatMap((line) => SIZE.exec(line)?.[1] ?? [])[0] ?? 0),
  };
};

/** What would end the address or the command. */
const UNSAFE = /[\r\n\0<>]/;
const NON_ASCII = /[^\0-\x7f]/;

/** @throws {Error} an address that would say more than an address: a fault of ours, nothing is sent. */
export const assertSafe = ({ from, to }: SmtpEnvelope): void => {
  if (to.length === 0) throw new Error('an envelope has no recipients');
  for (const address of [from, ...to]) {
    if (UNSAFE.test(address)) throw new Error(`an address cannot be in an envelope: ${JSON.stringify(address)}`);
  }
};

/** The message's header names them as they are (RFC 6532); all other messages of ours are 7-bit. */
export const needsUtf8 = ({ from, to }: SmtpEnvelope): boolean =>
  NON_ASCII.test(from) || to.some((each) => NON_ASCII.test(each));

const mailCommand = (envelope: SmtpEnvelope, sizeBytes: number, extensions: SmtpExtensions): string => {
  const { utf8, eightBit, size, dsn } = extensions;
  const isWide = utf8 && needsUtf8(envelope);
  return [
    `MAIL FROM:<${envelope.from}>`,
    ...(isWide ? [' SMTPUTF8'] : []),
    ...(isWide && eightBit ? [' BODY=8BITMIME'] : []),
    ...(size ? [` SIZE=${sizeBytes}`] : []),
    ...(dsn ? [dsnOfMail(envelope.id ?? '')] : []),
    '\r\n',
  ].join('');
};

/** MAIL, each RCPT, and what asks to send the message, in the order of their replies. */
export const envelopeCommands = (
  envelope: SmtpEnvelope,
  sizeBytes: number,
  extensions: SmtpExtensions,
  content: string,
): readonly string[] => [
  mailCommand(envelope, sizeBytes, extensions),
  ...envelope.to.map((address) => `RCPT TO:<${address}>${extensions.dsn ? dsnOfRecipient(address) : ''}\r\n`),
  content,
];

export interface EnvelopeJudgement {
  /** Recipients refused at RCPT, by address. */
  readonly rejected: ReadonlyMap<string, SmtpReply>;
  readonly verdict: /** The server waits for the message. */
    | { readonly kind: 'go' }
    /** `asked`: it waits for a message all the same (RFC 2920 §3.1). */
    | { readonly kind: 'refused'; readonly stage: SmtpStage; readonly reply: SmtpReply; readonly asked: boolean }
    /** Its replies do not fit the commands. */
    | { readonly kind: 'out-of-step'; readonly reply: SmtpReply }
    /** Replies are missing, and nothing that came decides. */
    | { readonly kind: 'unfinished' };
}

/** By DATA or by BDAT. */
type Manner = Pick<SmtpExtensions, 'chunking'>;
type Verdict = EnvelopeJudgement['verdict'];

const isOk = (response: string): boolean => response[0] === '2';
const asksForMessage = (response: string | undefined): boolean => response?.[0] === '3';

const isReady = (data: string, { chunking }: Manner): boolean => (chunking ? isOk(data) : asksForMessage(data));

/** After a 2xx to DATA the message might be read as commands, and a 3xx to BDAT asks for what is not sent. */
const isOutOfStep = (data: string, { chunking }: Manner): boolean => (chunking ? asksForMessage(data) : isOk(data));

const judgeData = (data: string, manner: Manner): Verdict => {
  if (isReady(data, manner)) return { kind: 'go' };
  const reply = parseReply(data);
  return isOutOfStep(data, manner)
    ? { kind: 'out-of-step', reply }
    : { kind: 'refused', stage: 'content', reply, asked: false };
};

/** A refusal that may pass counts before one for good: the message as a whole is then tried again. */
const refusedAll = (rejections: readonly SmtpReply[], data: string | undefined, manner: Manner): Verdict => {
  const reply = rejections.find(({ code }) => code < 500) ?? rejections.at(-1);
  if (reply === undefined) return { kind: 'unfinished' };
  return data !== undefined && isOutOfStep(data, manner)
    ? { kind: 'out-of-step', reply }
    : { kind: 'refused', stage: 'recipient', reply, asked: asksForMessage(data) };
};

const rejectedOf = (to: readonly string[], answers: readonly string[]): ReadonlyMap<string, SmtpReply> =>
  new Map(
    to.flatMap((address, at) => {
      const response = answers[at];
      return response === undefined || isOk(response) ? [] : [[address, parseReply(response)]];
    }),
  );

const NONE: ReadonlyMap<string, SmtpReply> = new Map();

/** @param responses to `envelopeCommands`, as far as they came or were asked for. */
export const judgeEnvelope = (
  to: readonly string[],
  responses: readonly string[],
  manner: Manner,
): EnvelopeJudgement => {
  const [mail, ...answers] = responses;
  const data = answers[to.length];
  const early = [mail, ...answers.slice(0, to.length)].find(asksForMessage);
  if (mail === undefined) return { rejected: NONE, verdict: { kind: 'unfinished' } };
  if (early !== undefined) return { rejected: NONE, verdict: { kind: 'out-of-step', reply: parseReply(early) } };
  // Without a sender there is no transaction: what was said about recipients is not about them.
  if (!isOk(mail)) {
    const verdict: Verdict = { kind: 'refused', stage: 'mail', reply: parseReply(mail), asked: asksForMessage(data) };
    return { rejected: NONE, verdict };
  }
  const rejected = rejectedOf(to, answers);
  if (rejected.size === to.length) return { rejected, verdict: refusedAll([...rejected.values()], data, manner) };
  return { rejected, verdict: data === undefined ? { kind: 'unfinished' } : judgeData(data, manner) };
};
