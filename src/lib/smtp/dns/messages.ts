import { type Answer, AUTHENTIC_DATA, type DecodedPacket, decode, encode, RECURSION_DESIRED } from 'dns-packet';
import type { DnsAnswer, HostAddress, MxRecord, TlsaRecord } from './resolver.ts';

/**
 * DNS messages: questions as they are sent, and what a reply says of a name (RFC 1035). The package encodes and decodes;
 * what may be believed of a message is decided here, since anybody on the way may have written it.
 */

export interface Question {
  /** Lower case, without a dot at its end. */
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'MX' | 'TXT' | 'TLSA';
}

/** A name server sent something that is no answer. */
export class BadReply extends Error {
  override readonly name = 'BadReply';
}

/** RFC 1035 §4.1.1, RFC 6891 §6.1.3. */
export const RCODE = { noError: 0, formatError: 1, serverFailure: 2, noSuchName: 3, notImplemented: 4, refused: 5 };

export interface Reply {
  readonly rcode: number;
  readonly truncated: boolean;
  /** The AD flag (RFC 4035 §3.2.3). */
  readonly authenticated: boolean;
  readonly answers: readonly Answer[];
  readonly authorities: readonly Answer[];
  /** Of the message. */
  readonly bytes: number;
}

/**
 * What fits into a datagram on any path without fragments (DNS flag day 2020). Larger loses fragments, and lets others
 * slip theirs in between; smaller asks by TCP more often.
 */
const UDP_BYTES_MAX = 1232;
const HEADER_BYTES = 12;
/**
 * More records than these are not read: a name made of pointers to pointers costs 0.2 ms, and a broken resolver could
 * stop the process. Fewer would refuse real answers: names with a hundred TXT records are known.
 */
const RECORDS_MAX = 300;
/** Longer chains of CNAME records are mistakes, or circles. Resolvers themselves follow 8 to 16. */
export const ALIASES_MAX = 8;

/** RFC 1035 §2.3.4: what is longer, or has an empty label, cannot be asked for. */
const ASKABLE = /^(?=.{1,253}$)[!-\-/-~]{1,63}(?:\.[!-\-/-~]{1,63})*$/;

export const isAskable = (name: string): boolean => ASKABLE.test(name);

/** As names are compared. Characters that no host name has become question marks. */
const plainName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\.$/, '')
    .replaceAll(/[^!-~]/g, '?');

/** @param edns false: for a server that does not understand it (RFC 6891 §7). */
export const encodeQuestion = (id: number, { name, type }: Question, edns: boolean): Buffer =>
  encode({
    type: 'query',
    id,
    // AD in a question asks for AD in the answer (RFC 6840 §5.7).
    flags: RECURSION_DESIRED | AUTHENTIC_DATA,
    questions: [{ name, type, class: 'IN' }],
    additionals: edns
      ? [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: UDP_BYTES_MAX,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ]
      : [],
  });

const recordsOf = (message: Buffer): number =>
  message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);

/** @throws {BadReply} the message is cut off, or no DNS. */
const decodeWhole = (message: Buffer): DecodedPacket => {
  if (recordsOf(message) > RECORDS_MAX) throw new BadReply('an answer with too many records');
  try {
    const packet = decode(message);
    // The package reads past the end without an error where a record's length does.
    if (decode.bytes <= message.length) return packet;
  } catch {
    // its errors name places in the message, which help nobody
  }
  throw new BadReply('an answer that cannot be read');
};

const extendedRcode = ({ additionals = [] }: DecodedPacket): number =>
  additionals.find((record) => record.type === 'OPT')?.extendedRcode ?? 0;

const isIn = (record: Answer): boolean => record.type === 'OPT' || !('class' in record) || record.class === 'IN';

const repeats = ({ name, type }: Question, { questions = [] }: DecodedPacket): boolean => {
  const [only] = questions;
  return questions.length === 1 && only !== undefined && plainName(only.name) === name && only.type === type;
};

/** A server that does not understand a question may leave it out. */
const isAbout = (question: Question, packet: DecodedPacket, rcode: number): boolean =>
  repeats(question, packet) ||
  (packet.questions?.length === 0 && rcode !== RCODE.noError && rcode !== RCODE.noSuchName);

/**
 * Reads a message as the reply to a question. @returns null: it is the reply to something else, and may come from
 * somebody else (RFC 5452 §9.1). @throws {BadReply}
 */
export const readReply = (message: Buffer, id: number, question: Question): Reply | null => {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== id) return null;
  const packet = decodeWhole(message);
  const { flags = 0, answers = [], authorities = [] } = packet;
  const rcode = (extendedRcode(packet) << 4) | (flags & 0xf);
  if (!packet.flag_qr || !isAbout(question, packet, rcode)) return null;
  return {
    rcode,
    truncated: packet.flag_tc,
    authenticated: packet.flag_ad,
    bytes: message.length,
    answers: answers.filter(isIn),
    authorities: authorities.filter(isIn),
  };
};

/** Reads a record of one type. @returns null: it is of another type. */
export type ReadRecord<Found> = (record: Answer) => Found | null;

export const readIpv4: ReadRecord<HostAddress> = (record) =>
  record.type === 'A' ? { address: record.data, family: 4 } : null;

export const readIpv6: ReadRecord<HostAddress> = (record) =>
  record.type === 'AAAA' ? { address: record.data, family: 6 } : null;

export const readMx: ReadRecord<MxRecord> = (record) =>
  record.type === 'MX' ? { exchange: plainName(record.data.exchange), preference: record.data.preference ?? 0 } : null;

export const readTxt: ReadRecord<string> = (record) =>
  record.type === 'TXT'
    ? Buffer.concat([record.data].flat().map((string) => Buffer.from(string))).toString('utf8')
    : null;

export const readTlsa: ReadRecord<TlsaRecord> = (record) => {
  if (record.type !== 'TLSA') return null;
  const { usage, selector, matchingType, certificate } = record.data;
  return { usage, selector, matchingType, data: certificate.toString('hex') };
};

/** CNAME records by their owner. @throws {BadReply} a name is an alias of two (RFC 2181 §10.1). */
const aliasesIn = (answers: readonly Answer[]): ReadonlyMap<string, string> => {
  const aliases = new Map<string, string>();
  for (const record of answers) {
    if (record.type !== 'CNAME') continue;
    const [owner, target] = [plainName(record.name), plainName(record.data)];
    if ((aliases.get(owner) ?? target) !== target) throw new BadReply(`${owner} is an alias of two names`);
    aliases.set(owner, target);
  }
  return aliases;
};

/** The names that `name` leads to by CNAME records, in order. @throws {BadReply} too many. */
const followAliases = (answers: readonly Answer[], name: string): readonly string[] => {
  const aliases = aliasesIn(answers);
  const followed: string[] = [];
  for (let target = aliases.get(name); target !== undefined; target = aliases.get(target)) {
    followed.push(target);
    if (followed.length > ALIASES_MAX) throw new BadReply(`${name} leads in a circle, or over too many aliases`);
  }
  return followed;
};

/** What one reply says of a name. */
export interface ReadAnswer<Found> {
  readonly answer: DnsAnswer<Found>;
  /** Of every record that counts, in seconds. */
  readonly ttls: readonly number[];
  /** It ends in an alias, and does not say what that has. */
  readonly isOpen: boolean;
}

const notNull = <Value>(value: Value | null): value is Value => value !== null;

/** RFC 2308 §5: how long "there is none" holds. */
const negativeTtls = ({ authorities }: Reply): readonly number[] =>
  authorities.flatMap((record) => (record.type === 'SOA' ? [Math.min(record.ttl ?? 0, record.data.minimum ?? 0)] : []));

/** Servers that do not resolve name others instead of answering (RFC 2308 §2.2). */
const refersToOthers = ({ authorities }: Reply): boolean => authorities.some(({ type }) => type === 'NS');

const withoutRecords = (reply: Reply, ttls: readonly number[], isAlias: boolean) => {
  const negatives = negativeTtls(reply);
  const saysNone = negatives.length > 0 || reply.rcode === RCODE.noSuchName;
  if (!saysNone && !isAlias && refersToOthers(reply)) {
    throw new BadReply('the server refers to others: it does not resolve');
  }
  // Without a time to live, "there is none" holds for the shortest time that there is.
  return { ttls: [...ttls, ...(negatives.length > 0 ? negatives : [0])], isOpen: !saysNone && isAlias };
};

/** Records of names that were not asked about are not read: anybody may say anything of them. @throws {BadReply} */
export const readAnswer = <Found>(reply: Reply, name: string, read: ReadRecord<Found>): ReadAnswer<Found> => {
  const aliases = followAliases(reply.answers, name);
  const end = aliases.at(-1) ?? name;
  const onTheWay = new Set([name, ...aliases]);
  const about = reply.answers.filter((record) => onTheWay.has(plainName(record.name)));
  const records = about
    .filter((record) => plainName(record.name) === end)
    .map(read)
    .filter(notNull);
  const exists = reply.rcode !== RCODE.noSuchName;
  if (!exists && records.length > 0) throw new BadReply(`${end} does not exist, and has records`);
  const ttls = about.flatMap((record) => ('ttl' in record ? [record.ttl ?? 0] : []));
  return {
    answer: { records, exists, authenticated: reply.authenticated, aliases },
    ...(records.length > 0 ? { ttls, isOpen: false } : withoutRecords(reply, ttls, aliases.length > 0)),
  };
};
