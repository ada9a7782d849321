import type { MimeMessage } from '../compose/mime-message.ts';
import { endsLine, finalDot, stuffDots } from './dot-stuffing.ts';
import {
  assertSafe,
  type EnvelopeJudgement,
  envelopeCommands,
  judgeEnvelope,
  type SmtpEnvelope,
  type SmtpExtensions,
} from './envelope.ts';
import type { SmtpExchange } from './exchange.ts';
import { noReply, parseReply, type SmtpReply, type SmtpStage } from './reply.ts';

/** How one transaction ended. `rejected`: recipients refused at RCPT, by address. */
export interface Transaction {
  readonly rejected: ReadonlyMap<string, SmtpReply>;
  readonly end:
    | { readonly kind: 'accepted'; readonly reply: SmtpReply }
    /** `begun`: it was the message that was refused, not the wish to send it. */
    | { readonly kind: 'refused'; readonly stage: SmtpStage; readonly reply: SmtpReply; readonly begun: boolean }
    /** No reply. `begun`: the server had asked for the message; `finalDot`: it may have got all of it. */
    | { readonly kind: 'broken'; readonly reply: SmtpReply; readonly begun: boolean; readonly finalDot: boolean };
}

export type End = Transaction['end'];

export interface OutgoingMessage {
  readonly message: MimeMessage;
  /** Asked right before the final dot is written; a promise where that takes a look. */
  readonly mayFinish: () => boolean | Promise<boolean>;
}

/** Larger ones are given to the socket in such pieces, each when the one before has left: so much waits in memory. */
const PIECE_BYTES = 64 * 1024;

/** RFC 1870 §6.1: what the server said it will not take is not offered. */
const TOO_LARGE: SmtpReply = { code: 552, enhanced: '5.3.4', text: 'the message is larger than the server accepts' };
const TOO_LATE = noReply('the deadline has passed');

const BROKEN_BY_US = noReply('the message could not be made');

const NONE: ReadonlyMap<string, SmtpReply> = new Map();

const brokenBefore = (reply: SmtpReply): End => ({ kind: 'broken', reply, begun: false, finalDot: false });

/** The session ended: a refusal may have come with it, which after the final dot says nothing about the message. */
const endWithoutReply = (exchange: SmtpExchange, begun: boolean, finalDot: boolean): End => {
  const reply = exchange.lastWord();
  return reply.code >= 400 && !finalDot
    ? { kind: 'refused', stage: 'session', reply, begun }
    : { kind: 'broken', reply, begun, finalDot };
};

const endOf = (exchange: SmtpExchange, [response]: readonly string[], isComplete: boolean): End => {
  if (response === undefined) return endWithoutReply(exchange, true, isComplete);
  const reply = parseReply(response);
  if (!isComplete) exchange.close(reply); // in the middle of a message: never a final dot
  if (reply.code >= 400) return { kind: 'refused', stage: 'content', reply, begun: true };
  if (isComplete && reply.code < 300) return { kind: 'accepted', reply };
  exchange.close(reply);
  return { kind: 'broken', reply, begun: true, finalDot: isComplete };
};

/** In one piece and one write with its final dot. */
const sendWhole = async (exchange: SmtpExchange, { message, mayFinish }: OutgoingMessage): Promise<End> => {
  const chunks = [...message.chunks()];
  const bytes = stuffDots(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks), true);
  const whole = Buffer.concat([bytes, finalDot(endsLine(bytes))]);
  const may = mayFinish();
  // Not awaited where nothing was looked up: nothing happens between the answer and the dot.
  if (may === false || (may !== true && !(await may))) exchange.close(TOO_LATE);
  return exchange.isOpen()
    ? endOf(exchange, await exchange.ask(whole, 1), true)
    : endWithoutReply(exchange, true, false);
};

const isSmall = ({ message }: OutgoingMessage): boolean => message.sizeBytes <= PIECE_BYTES;

function* piecesOf({ chunks }: MimeMessage): Generator<Buffer> {
  for (const chunk of chunks()) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
  }
}

/** Gives all but what ends the message. @returns what ends it; null: a reply came too early, or the session ended. */
type Give = (exchange: SmtpExchange, message: MimeMessage) => Promise<Buffer | null>;

const giveStuffed: Give = async (exchange, message) => {
  let atLineStart = true;
  for (const piece of piecesOf(message)) {
    if (!(await exchange.give(stuffDots(piece, atLineStart)))) return null;
    atLineStart = endsLine(piece);
  }
  return finalDot(atLineStart);
};

/**
 * The first bytes are a chunk of their own, sent with the envelope where DATA would be (RFC 3030 §2): a server that does
 * not know BDAT after all would read what follows it as commands, and these end none. Postfix refuses an empty chunk.
 */
const LEAD_BYTES = 4;
const LEAD = /^[A-Za-z-]{4}$/;

const leadOf = ({ message }: OutgoingMessage): string => {
  const [first] = message.chunks();
  return first?.toString('latin1', 0, LEAD_BYTES) ?? '';
};

/** The rest is one chunk of known length: its last piece is what ends it. @throws {Error} it has another length. */
const giveCounted: Give = async (exchange, message) => {
  let left = message.sizeBytes - LEAD_BYTES;
  let held: Buffer = Buffer.from(`BDAT ${left} LAST\r\n`);
  let skip = LEAD_BYTES;
  for (const whole of piecesOf(message)) {
    const piece = whole.subarray(skip);
    skip -= whole.length - piece.length;
    left -= piece.length;
    if (left < 0) break; // what came after would be read as commands
    if (!(await exchange.give(held))) return null;
    held = piece;
  }
  if (left !== 0) throw new Error('the message is not as long as it was said to be');
  return held;
};

const sendInPieces = async (
  exchange: SmtpExchange,
  { message, mayFinish }: OutgoingMessage,
  give: Give,
): Promise<End> => {
  let isComplete = false;
  const finish = async (last: Buffer | null): Promise<void> => {
    if (last === null) return;
    if (!(await mayFinish())) return exchange.close(TOO_LATE);
    if (!exchange.isOpen()) return;
    isComplete = true;
    void exchange.give(last);
  };
  // Not waited for: the reply may come, or the session end, while a piece still waits for a slow reader.
  const { promise: fault, reject } = Promise.withResolvers<never>();
  const reply = exchange.awaitReply();
  give(exchange, message).then(finish).catch(reject);
  return endOf(exchange, await Promise.race([reply, fault]), isComplete);
};

/** One at a time: nothing more is said once nobody is left to get the message. */
const askInTurn = async (
  exchange: SmtpExchange,
  to: readonly string[],
  commands: readonly string[],
  manner: SmtpExtensions,
): Promise<readonly string[]> => {
  const responses: string[] = [];
  for (const command of commands) {
    const [response] = await exchange.ask(command, 1);
    if (response === undefined) break;
    responses.push(response);
    if (judgeEnvelope(to, responses, manner).verdict.kind !== 'unfinished') break;
  }
  return responses;
};

/** RFC 2920 §3.1: a server may ask for a message that is for nobody; it gets an empty one, or the session ends. */
const endUnwanted = async (exchange: SmtpExchange, stage: SmtpStage, reply: SmtpReply): Promise<void> => {
  if (stage === 'recipient') await exchange.ask(finalDot(true), 1);
  else exchange.close(reply);
};

/** What needs no question. @throws {Error} an address that cannot be sent. */
const endBefore = (
  exchange: SmtpExchange,
  { sizeBytesMax }: SmtpExtensions,
  envelope: SmtpEnvelope,
  { message }: OutgoingMessage,
): End | null => {
  assertSafe(envelope);
  if (!exchange.isOpen()) return brokenBefore(exchange.lastWord());
  const isTooLarge = sizeBytesMax > 0 && message.sizeBytes > sizeBytesMax;
  return isTooLarge ? { kind: 'refused', stage: 'mail', reply: TOO_LARGE, begun: false } : null;
};

/** @throws {Error} the message could not be made; the session, in the middle of it, has ended. */
const send = async (exchange: SmtpExchange, outgoing: OutgoingMessage, chunked: boolean): Promise<End> => {
  try {
    if (isSmall(outgoing)) return await sendWhole(exchange, outgoing);
    return await sendInPieces(exchange, outgoing, chunked ? giveCounted : giveStuffed);
  } catch (fault) {
    exchange.close(BROKEN_BY_US);
    throw fault;
  }
};

const goOn = async (
  exchange: SmtpExchange,
  verdict: EnvelopeJudgement['verdict'],
  sending: () => Promise<End>,
): Promise<End> => {
  switch (verdict.kind) {
    case 'go':
      return sending();
    case 'refused':
      if (verdict.asked) await endUnwanted(exchange, verdict.stage, verdict.reply);
      return { kind: 'refused', stage: verdict.stage, reply: verdict.reply, begun: false };
    case 'out-of-step':
      exchange.close(verdict.reply);
      return brokenBefore(verdict.reply);
    case 'unfinished':
      return endWithoutReply(exchange, false, false);
    default:
      return verdict satisfies never;
  }
};

/** Carries one message. @throws {Error} an address that cannot be sent; the session is as it was. */
export const transact = async (
  exchange: SmtpExchange,
  extensions: SmtpExtensions,
  envelope: SmtpEnvelope,
  outgoing: OutgoingMessage,
): Promise<Transaction> => {
  const end = endBefore(exchange, extensions, envelope, outgoing);
  if (end !== null) return { rejected: NONE, end };
  const lead = extensions.chunking && !isSmall(outgoing) ? leadOf(outgoing) : '';
  const manner = { ...extensions, chunking: LEAD.test(lead) };
  const content = manner.chunking ? `BDAT ${LEAD_BYTES}\r\n${lead}` : 'DATA\r\n';
  const commands = envelopeCommands(envelope, outgoing.message.sizeBytes, manner, content);
  const responses = manner.pipelining
    ? await exchange.ask(commands.join(''), commands.length)
    : await askInTurn(exchange, envelope.to, commands, manner);
  const { rejected, verdict } = judgeEnvelope(envelope.to, responses, manner);
  return { rejected, end: await goOn(exchange, verdict, () => send(exchange, outgoing, manner.chunking)) };
};
