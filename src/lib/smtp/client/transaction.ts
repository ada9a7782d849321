import { Readable } from 'node:stream';
import { createCohort } from '../../async/async.ts';
import type { MimeMessage } from '../../mime/mime.ts';
import type { SmtpConnection } from './connection.ts';
import { assertSafe, judgeEnvelope, type SmtpEnvelope, type SmtpExtensions, sendEnvelope } from './envelope.ts';
import { noReply, parseReply, type SmtpReply, type SmtpStage } from './reply.ts';

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
const PIECE_BYTES = 16 * 1024;

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

/** @returns true if the server waits for the message and has said nothing more. */
const isAwaited = ({ envelope: { to }, replies }: Sending): boolean =>
  replies.length === to.length + 2 && judgeEnvelope(to, replies).verdict.kind === 'go';

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
  smtp.send(sendEnvelope(envelope, outgoing.message.sizeBytes, extensions), body.stream, () => resolve());
  await done.finally(() => smtp.removeListener('end', resolve));
  const transaction = conclude(sending, body.isComplete());
  await new Promise<void>((next) => ended.join(next));
  return transaction;
};
