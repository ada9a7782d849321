import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { writtenAddress } from '../../mime/mime.ts';
import { parseReply, type SmtpReply, type SmtpStage } from './reply.ts';

type Envelope = SMTPConnection.Envelope;

export interface SmtpEnvelope {
  readonly from: string;
  /** Recipients without duplicates. */
  readonly to: readonly string[];
  /** Identifier of the message in delivery reports. A Message-ID may keep its angle brackets. */
  readonly id?: string;
}

/** Capabilities that the server announced (RFC 5321 §4.1.1.1). */
export interface SmtpExtensions {
  /** RFC 2920. */
  readonly pipelining: boolean;
  /** RFC 6531. */
  readonly utf8: boolean;
  /** RFC 6152. */
  readonly eightBit: boolean;
  /** RFC 3461. */
  readonly dsn: boolean;
  /** RFC 1870. `sizeBytesMax` is 0 if the server named no limit. */
  readonly size: boolean;
  readonly sizeBytesMax: number;
}

const SIZE = /^SIZE(?:[ \t]+(\d+))?/i;

/** @param lines of the reply to EHLO, without their codes. */
export const readExtensions = (lines: readonly string[]): SmtpExtensions => {
  const has = (keyword: RegExp): boolean => lines.some((line) => keyword.test(line));
  return {
    pipelining: has(/^PIPELINING\b/i),
    utf8: has(/^SMTPUTF8\b/i),
    eightBit: has(/^8BITMIME\b/i),
    dsn: has(/^DSN\b/i),
    size: has(SIZE),
    sizeBytesMax: Number(lines.flatMap((line) => SIZE.exec(line)?.[1] ?? [])[0] ?? 0),
  };
};

/** Characters that would end the address or the command. */
const UNSAFE = /[\r\n\0<>]/;
const NON_ASCII = /[^\0-\x7f]/;

/** @throws {Error} if an address would inject more than an address. That is a fault of ours, and nothing is sent. */
export const assertSafe = ({ from, to }: SmtpEnvelope): void => {
  if (to.length === 0) throw new Error('an envelope has no recipients');
  for (const address of [from, ...to]) {
    if (UNSAFE.test(address)) throw new Error(`an address cannot be in an envelope: ${JSON.stringify(address)}`);
  }
};

/** The message's header contains such addresses unencoded (RFC 6532). All other messages of ours are 7-bit. */
export const needsUtf8 = ({ from, to }: SmtpEnvelope): boolean =>
  NON_ASCII.test(from) || to.some((each) => NON_ASCII.test(each));

/** RFC 6533 §3: characters that must be escaped in an address that may hold any character. */
const NOT_QCHAR = /[^!-*,-<>-[\]-~]/gu;
/** RFC 3461 §4.4 and §4.2: longer values are rejected. nodemailer writes a character in up to three. */
const ENVID_CHARACTERS_MAX = 100;
const ORCPT_CHARACTERS_MAX = 500;

const xtextLength = (text: string): number => text.length + 2 * (text.match(/[^!-*,-<>-~]/g)?.length ?? 0);

/** ASCII form of a non-ASCII address. It keeps its meaning on servers without SMTPUTF8. */
const utf8Address = (address: string): string =>
  address.replace(NOT_QCHAR, (each) => `\\x{${each.codePointAt(0)?.toString(16).toUpperCase().padStart(2, '0')}}`);

/** A Message-ID may have its angle brackets; a report uses it without them. */
const envidOf = (id: string): string | undefined => {
  const envid = id.replace(/^<|>$/g, '');
  return NON_ASCII.test(envid) || xtextLength(envid) > ENVID_CHARACTERS_MAX ? undefined : envid;
};

/**
 * nodemailer writes one ORCPT for all recipients. With several, we omit it, and a report names them as in the envelope.
 */
const orcptOf = ([address = '', ...others]: readonly string[]): string | undefined => {
  const orcpt = NON_ASCII.test(address) ? `utf-8;${utf8Address(address)}` : `rfc822;${address}`;
  return others.length > 0 || xtextLength(orcpt) > ORCPT_CHARACTERS_MAX ? undefined : orcpt;
};

/**
 * The envelope in nodemailer's form. nodemailer adds SMTPUTF8 on its own if the server offers it; the other parameters
 * are decided here.
 */
export const sendEnvelope = (envelope: SmtpEnvelope, sizeBytes: number, extensions: SmtpExtensions): Envelope => {
  const { utf8, eightBit, size, dsn } = extensions;
  return {
    from: envelope.from,
    to: envelope.to.map(writtenAddress),
    use8BitMime: utf8 && eightBit && needsUtf8(envelope),
    ...(size && { size: sizeBytes }),
    // Request a report if the message cannot be delivered, identifying this message and recipient (RFC 3461, RFC 6533
    // §3).
    ...(dsn && {
      dsn: {
        ret: 'HDRS',
        envid: envidOf(envelope.id ?? ''),
        notify: 'FAILURE',
        orcpt: orcptOf(envelope.to.map(writtenAddress)),
      },
    }),
  };
};

export interface EnvelopeJudgement {
  /** Recipients refused at RCPT, by address. */
  readonly rejected: ReadonlyMap<string, SmtpReply>;
  readonly verdict: /** The server waits for the message. */
    | { readonly kind: 'go' }
    | { readonly kind: 'refused'; readonly stage: SmtpStage; readonly reply: SmtpReply }
    /** Its replies do not fit the commands. */
    | { readonly kind: 'out-of-step'; readonly reply: SmtpReply }
    /** Replies are missing, and nothing that came decides. */
    | { readonly kind: 'unfinished' };
}

type Verdict = EnvelopeJudgement['verdict'];

const isOk = (response: string): boolean => response[0] === '2';
const asksForMessage = (response: string | undefined): boolean => response?.[0] === '3';

/** After a 2xx to DATA the message might be read as commands. */
const judgeData = (data: string): Verdict => {
  if (asksForMessage(data)) return { kind: 'go' };
  const reply = parseReply(data);
  return isOk(data) ? { kind: 'out-of-step', reply } : { kind: 'refused', stage: 'content', reply };
};

/** A temporary rejection takes precedence over a permanent one, so that the whole message is retried. */
const refusedAll = (rejections: readonly SmtpReply[], data: string | undefined): Verdict => {
  const reply = rejections.find(({ code }) => code < 500) ?? rejections.at(-1);
  if (reply === undefined) return { kind: 'unfinished' };
  return data !== undefined && isOk(data)
    ? { kind: 'out-of-step', reply }
    : { kind: 'refused', stage: 'recipient', reply };
};

const rejectedOf = (to: readonly string[], answers: readonly string[]): ReadonlyMap<string, SmtpReply> =>
  new Map(
    to.flatMap((address, at) => {
      const response = answers[at];
      return response === undefined || isOk(response) ? [] : [[address, parseReply(response)]];
    }),
  );

const NONE: ReadonlyMap<string, SmtpReply> = new Map();

/** @param responses to MAIL, each RCPT and DATA, as far as they arrived or were requested. Later ones are ignored. */
export const judgeEnvelope = (to: readonly string[], responses: readonly string[]): EnvelopeJudgement => {
  const [mail, ...answers] = responses;
  const data = answers[to.length];
  const early = [mail, ...answers.slice(0, to.length)].find(asksForMessage);
  if (mail === undefined) return { rejected: NONE, verdict: { kind: 'unfinished' } };
  if (early !== undefined) return { rejected: NONE, verdict: { kind: 'out-of-step', reply: parseReply(early) } };
  // Without a sender there is no transaction, so the replies to RCPT say nothing about the recipients.
  if (!isOk(mail)) {
    const verdict: Verdict = { kind: 'refused', stage: 'mail', reply: parseReply(mail) };
    return { rejected: NONE, verdict };
  }
  const rejected = rejectedOf(to, answers);
  if (rejected.size === to.length) return { rejected, verdict: refusedAll([...rejected.values()], data) };
  return { rejected, verdict: data === undefined ? { kind: 'unfinished' } : judgeData(data) };
};
