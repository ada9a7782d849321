import { type Answer, type DecodedPacket, decode } from 'dns-packet';
import { BadReply } from './bad-reply.ts';
import { isAnswerTo, type Question } from './question.ts';

/** RFC 1035 §4.1.1, RFC 6891 §6.1.3. */
export const RCODE = { noError: 0, formatError: 1, serverFailure: 2, noSuchName: 3, notImplemented: 4, refused: 5 };

export interface Reply {
  readonly rcode: number;
  readonly truncated: boolean;
  readonly authenticated: boolean;
  readonly answers: readonly Answer[];
  readonly authorities: readonly Answer[];
  /** As it travelled. */
  readonly bytes: number;
}

const HEADER_BYTES = 12;
/**
 * More records than these are not read: a name made of pointers to pointers costs 0.2 ms, and a resolver that has gone bad
 * could hold the process up. Fewer would refuse answers that there are: names with a hundred TXT records are known.
 */
const RECORDS_MAX = 300;

const recordsOf = (message: Buffer): number =>
  message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);

/** @throws {BadReply} what it says is cut off, or no DNS. */
const decodeWhole = (message: Buffer): DecodedPacket => {
  if (recordsOf(message) > RECORDS_MAX) throw new BadReply('an answer with too many records');
  try {
    const packet = decode(message);
    // The package reads over the end without a word where a record's length does.
    if (decode.bytes <= message.length) return packet;
  } catch {
    // what is wrong with it is of no use to anybody
  }
  throw new BadReply('an answer that cannot be read');
};

const extendedRcode = ({ additionals = [] }: DecodedPacket): number =>
  additionals.find((record) => record.type === 'OPT')?.extendedRcode ?? 0;

const isIn = (record: Answer): boolean => record.type === 'OPT' || !('class' in record) || record.class === 'IN';

/** A server that does not understand a question may leave it out. */
const isAbout = (question: Question, packet: DecodedPacket, rcode: number): boolean =>
  isAnswerTo(question, packet) ||
  (packet.questions?.length === 0 && rcode !== RCODE.noError && rcode !== RCODE.noSuchName);

/**
 * What a message says, if it answers this question with this id; null: it does not, and may come from somebody else
 * (RFC 5452 §9.1).
 * @throws {BadReply}
 */
export const readReply = (message: Buffer, id: number, question: Question): Reply | null => {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== id) return null;
  const packet = decodeWhole(message);
  const { flags = 0, answers = [], authorities = [] } = packet;
  const rcode = (extendedRcode(packet) << 4) | (flags & 0xf);
  if (!packet.flag_qr || !isAbout(question, packet, rcode)) return null;
  return {
    ...{ rcode, truncated: packet.flag_tc, authenticated: packet.flag_ad, bytes: message.length },
    answers: answers.filter(isIn),
    authorities: authorities.filter(isIn),
  };
};
