import type { SMTPServerDataStream } from 'smtp-server';
import { type BodyBudget, type Reservation, SMALL_BODY_BYTES_MAX } from '../http/bodies/body-budget.ts';
import { SmtpRefusal } from './smtp-refusal.ts';

/** As much as HTTP takes of a message that is encoded, and its headers. */
export const MESSAGE_BYTES_MAX = 26_500_000;
/** Pieces are copied together: each that is kept by itself costs some hundred bytes, however short it is. */
const BLOCK_BYTES = 65_536;
const FIRST_BLOCK_BYTES = 8_192;

const tooLarge = (): SmtpRefusal => new SmtpRefusal(552, `5.3.4 the message is larger than ${MESSAGE_BYTES_MAX} bytes`);
const noRoom = (): SmtpRefusal =>
  new SmtpRefusal(451, '4.3.0 too many large messages are in hand: try again in some seconds');
const broken = (): SmtpRefusal => new SmtpRefusal(451, '4.4.2 the message did not come to its end');

export interface ReceivedMessage {
  readonly chunks: readonly Uint8Array[];
  /** Of the budget: whoever is done with the message gives it back. */
  readonly reservation: Reservation;
}

export interface Receiving {
  readonly bodies: BodyBudget;
  readonly organizationId: string;
  /** `SIZE` of the client's MAIL (RFC 1870); null: it said nothing. */
  readonly declaredBytes: number | null;
}

const createBlocks = () => {
  const full: Uint8Array[] = [];
  let block = Buffer.allocUnsafe(FIRST_BLOCK_BYTES);
  let used = 0;
  const add = (piece: Buffer): void => {
    const copied = piece.copy(block, used);
    used += copied;
    if (used < block.length) return;
    full.push(block);
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    used = 0;
    add(piece.subarray(copied));
  };
  return { add, chunks: (): readonly Uint8Array[] => [...full, block.subarray(0, used)] };
};

/** Room for what is declared, or for a small message. The client waits meanwhile: nothing is read. */
const reserveFirst = ({ bodies, organizationId, declaredBytes }: Receiving): Promise<Reservation | null> => {
  const bytes = Math.min(MESSAGE_BYTES_MAX, declaredBytes ?? SMALL_BODY_BYTES_MAX);
  return bodies.reserve(organizationId, bytes, { waits: true });
};

const readToEnd = async (
  stream: SMTPServerDataStream,
  keep: (piece: Buffer) => Promise<SmtpRefusal | null>,
): Promise<SmtpRefusal | null> => {
  let refusal: SmtpRefusal | null = null;
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) refusal ??= await keep(piece);
  } catch {
    return broken();
  }
  return refusal;
};

/**
 * A message as it arrives, within what all bodies in flight may take: its room is reserved before it is read. One that is
 * refused is read to its end, as the protocol wants, and not kept.
 * @throws {SmtpRefusal} too large, no room, or it did not come to its end; then nothing of the budget is kept.
 */
export const receiveMessage = async (stream: SMTPServerDataStream, receiving: Receiving): Promise<ReceivedMessage> => {
  const { bodies, organizationId } = receiving;
  const blocks = createBlocks();
  let reservation = await reserveFirst(receiving);
  let bytes = 0;

  /** What is reserved already stays until there is room for all. */
  const hasRoom = async (): Promise<boolean> => {
    if (reservation === null || bytes <= reservation.bytes()) return reservation !== null;
    const wider = await bodies.reserve(organizationId, MESSAGE_BYTES_MAX, { waits: true });
    reservation.release();
    reservation = wider;
    return wider !== null;
  };

  const keep = async (piece: Buffer): Promise<SmtpRefusal | null> => {
    bytes += piece.length;
    if (bytes > MESSAGE_BYTES_MAX) return tooLarge();
    if (!(await hasRoom())) return noRoom();
    blocks.add(piece);
    return null;
  };

  const refusal = await readToEnd(stream, keep);
  if (refusal === null && reservation !== null) return { chunks: blocks.chunks(), reservation };
  reservation?.release();
  throw refusal ?? noRoom();
};
