import { Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { createCohort } from '../../async/async.ts';
import { type MimeMessage, writtenAddress } from '../../mime/mime.ts';
import { noReply, parseReply, type SmtpConnection, type SmtpReply, type SmtpStage } from './connection.ts';

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
const sendEnvelope = (
  envelope: SmtpEnvelope,
  { sizeBytes, isEightBit = false }: MimeMessage,
  extensions: SmtpExtensions,
): Envelope => {
  const { utf8, eightBit, size, dsn } = extensions;
  return {
    from: envelope.from,
    to: envelope.to.map(writtenAddress),
    // A server without it gets the bytes as they are: to encode them would break their signatures.
    use8BitMime: eightBit && (isEightBit || (utf8 && needsUtf8(envelope))),
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

interface EnvelopeJudgement {
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
const judgeEnvelope = (to: readonly string[], responses: readonly string[]): EnvelopeJudgement => {
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

/** How one transaction ended. `rejected`: recipients rejected at RCPT, by address. */
export interface Transaction {
  readonly rejected: ReadonlyMap<string, SmtpReply>;
  readonly end:
    | { readonly kind: 'accepted'; readonly reply: SmtpReply }
    /** `begun`: the message itself was rejected, not the request to send it. */
    | { readonly kind: 'refused'; readonly stage: SmtpStage; readonly reply: SmtpReply; readonly begun: boolean }
    /** No reply. `begun`: the server had asked for the message; `finalDot`: it may have received all of it. */
    | { readonly kind: 'broken'; readonly reply: SmtpReply; readonly begun: boolean; readonly finalDot: boolean };
}

export type End = Transaction['end'];

export interface OutgoingMessage {
  readonly message: MimeMessage;
  /** Asked right before the final dot is written. Returns a promise if it must look something up. */
  readonly mayFinish: () => boolean | Promise<boolean>;
}

/**
 * Larger messages are sent in pieces of this size, each after the previous one has left. nodemailer writes lines that
 * begin with a dot one by one: 64 kB of them block the event loop for 100 ms. Smaller pieces cost large messages more
 * turns of it.
 */
const PIECE_BYTES = 8 * 1024;

/** At worst each line is a dot, which is doubled (RFC 5321 §4.5.2). */
const STUFFED_PER_BYTE = 4 / 3;
const FINAL_DOT_BYTES = '\r\n.\r\n'.length;

/**
 * RFC 1870 §6.1: a message above the server's announced limit is not offered. The text is ours, so there is no code.
 */
const TOO_LARGE: SmtpReply = { code: 0, enhanced: '5.3.4', text: 'the message is larger than the server accepts' };
const TOO_LATE = noReply('the deadline has passed');
const NOT_BUILT = noReply('the message could not be built');

const NOTHING = Buffer.alloc(0);

/**
 * Transactions that wait for their turn to write. More: a process suspended after the check whether they may finish
 * writes that many final dots too late. Fewer: each costs more.
 */
const writing = createCohort({ membersMax: 16 });
/** Transactions that have ended. */
const ended = createCohort();

/**
 * Resolves after nodemailer's next step: replies that arrived together are read one per turn of the event loop. The
 * caller joins the cohort only after that turn, since the cohort's turn may come first.
 */
const turn = (): Promise<void> =>
  new Promise((resolve) => process.nextTick(() => setImmediate(() => writing.join(resolve))));

/** Resolves when the socket has flushed its data. nodemailer's stream before it is empty after one turn. */
const left = async ({ socket }: SmtpConnection): Promise<void> => {
  await turn();
  if (socket.writableLength > 0) await new Promise<void>((resolve) => socket.write(NOTHING, () => resolve()));
};

function* piecesOf({ chunks }: MimeMessage): Generator<Buffer> {
  for (const chunk of chunks()) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
  }
}

/** The message in nodemailer's form. */
interface Body {
  readonly stream: Readable;
  /** The final dot may have been written. */
  isComplete(): boolean;
}

interface Sending {
  readonly connection: SmtpConnection;
  readonly envelope: SmtpEnvelope;
  readonly replies: readonly string[];
  readonly outgoing: OutgoingMessage;
}

/** @returns true if the server waits for the message. If it has said more, `endOf` has closed the connection. */
const isAwaited = ({ envelope: { to }, replies }: Sending): boolean => judgeEnvelope(to, replies).verdict.kind === 'go';

/**
 * nodemailer calls `pipe` when the server has asked for the message, with a stream that doubles dots and writes to the
 * socket; its end is the final dot. We write to it directly: a readable stream costs, as measured, 20 µs more per
 * message.
 */
const createBody = (sending: Sending, fail: (fault: unknown) => void): Body => {
  const { connection } = sending;
  const { message, mayFinish } = sending.outgoing;
  let isComplete = false;

  /**
   * The fence: if `mayFinish` answers synchronously, nothing happens between its answer and the end of the message
   * except the same step for other members of its cohort.
   */
  const finish = async (writer: NodeJS.WritableStream, rest: Buffer): Promise<void> => {
    const may = mayFinish();
    if (may === false || (may !== true && !(await may))) return connection.close(TOO_LATE);
    if (!connection.isOpen()) return;
    isComplete = true;
    // One write, if it fits: a corked socket whose buffer is full never drains.
    if (rest.length * STUFFED_PER_BYTE + FINAL_DOT_BYTES < connection.socket.writableHighWaterMark) {
      connection.socket.cork();
      writer.once('end', () => connection.socket.uncork());
    }
    writer.end(rest);
  };

  const giveInPieces = async (writer: NodeJS.WritableStream): Promise<void> => {
    for (const piece of piecesOf(message)) {
      writer.write(piece);
      await left(connection);
      if (!connection.isOpen()) return;
    }
    await finish(writer, NOTHING);
  };

  const give = async (writer: NodeJS.WritableStream): Promise<void> => {
    await turn(); // replies that came with the last one have been read by now
    if (!isAwaited(sending)) return connection.close(parseReply(sending.replies.at(-1) ?? ''));
    if (message.sizeBytes > PIECE_BYTES) return giveInPieces(writer);
    const [first = NOTHING, ...others] = message.chunks();
    await finish(writer, others.length === 0 ? first : Buffer.concat([first, ...others]));
  };

  const stream = new Readable({ read: () => undefined });
  stream.pipe = (writer) => {
    give(writer).catch((fault: unknown) => {
      fail(fault);
      connection.close(NOT_BUILT);
    });
    return writer;
  };
  return { stream, isComplete: () => isComplete };
};

/**
 * The connection ended. A rejection may have come with it, but after the final dot it says nothing about the message.
 */
const endWithoutReply = (connection: SmtpConnection, begun: boolean, finalDot: boolean): End => {
  const reply = connection.lastWord();
  return reply.code >= 400 && !finalDot
    ? { kind: 'refused', stage: 'session', reply, begun }
    : { kind: 'broken', reply, begun, finalDot };
};

const endOf = (connection: SmtpConnection, response: string | undefined, isComplete: boolean): End => {
  if (response === undefined) return endWithoutReply(connection, true, isComplete);
  const reply = parseReply(response);
  if (!isComplete) connection.close(reply); // in the middle of a message: never send a final dot
  if (reply.code >= 400) return { kind: 'refused', stage: 'content', reply, begun: true };
  if (isComplete && reply.code < 300) return { kind: 'accepted', reply };
  connection.close(reply);
  return { kind: 'broken', reply, begun: true, finalDot: isComplete };
};

const brokenBefore = (reply: SmtpReply): End => ({ kind: 'broken', reply, begun: false, finalDot: false });

/** Derives the outcome from the replies. */
const conclude = ({ connection, envelope: { to }, replies }: Sending, isComplete: boolean): Transaction => {
  const { rejected, verdict } = judgeEnvelope(to, replies);
  switch (verdict.kind) {
    case 'go':
      return { rejected, end: endOf(connection, replies[to.length + 2], isComplete) };
    case 'refused':
      return { rejected, end: { kind: 'refused', stage: verdict.stage, reply: verdict.reply, begun: false } };
    case 'out-of-step':
      connection.close(verdict.reply);
      return { rejected, end: brokenBefore(verdict.reply) };
    case 'unfinished':
      return { rejected, end: endWithoutReply(connection, false, false) };
    default:
      return verdict satisfies never;
  }
};

/** Outcomes known before sending anything. @throws {Error} if an address cannot be sent. */
const endBefore = (
  connection: SmtpConnection,
  { sizeBytesMax }: SmtpExtensions,
  envelope: SmtpEnvelope,
  { message }: OutgoingMessage,
): End | null => {
  assertSafe(envelope);
  if (!connection.isOpen()) return brokenBefore(connection.lastWord());
  const isTooLarge = sizeBytesMax > 0 && message.sizeBytes > sizeBytesMax;
  return isTooLarge ? { kind: 'refused', stage: 'mail', reply: TOO_LARGE, begun: false } : null;
};

/**
 * Sends one message to its recipients.
 * @throws {Error} if an address cannot be sent, and the connection stays as it was; or if a message cannot be built,
 * and the connection has ended.
 */
export const transact = async (
  connection: SmtpConnection,
  extensions: SmtpExtensions,
  envelope: SmtpEnvelope,
  outgoing: OutgoingMessage,
): Promise<Transaction> => {
  const end = endBefore(connection, extensions, envelope, outgoing);
  if (end !== null) return { rejected: new Map(), end };
  const { smtp } = connection;
  const replies = connection.beginTransaction(envelope.to.length + 1);
  const sending: Sending = { connection, envelope, replies, outgoing };
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  const body = createBody(sending, reject);
  smtp.once('end', resolve);
  smtp.send(sendEnvelope(envelope, outgoing.message, extensions), body.stream, () => resolve());
  await done.finally(() => smtp.removeListener('end', resolve));
  const transaction = conclude(sending, body.isComplete());
  await new Promise<void>((next) => ended.join(next));
  return transaction;
};
