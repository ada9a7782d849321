import { type Answer, AUTHENTIC_DATA, type DecodedPacket, decode, encode, RECURSION_DESIRED } from 'dns-packet';
import type { DnsAnswer, HostAddress, MxRecord, TlsaRecord } from './resolver.ts';

/**
 * DNS messages: encoding questions, and reading what a reply says about a name (RFC 1035). The package encodes and
 * decodes; this module decides which parts to trust, since anyone on the path may have written the message.
 */

export interface Question {
  /** Lower case, without a trailing dot. */
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'MX' | 'TXT' | 'TLSA';
}

/** A name server sent something that is not a valid answer. */
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
  /** Size of the message. */
  readonly bytes: number;
}

/**
 * Size that fits into a datagram on any path without fragments (DNS flag day 2020). Larger datagrams lose fragments,
 * and let attackers inject theirs; smaller ones need TCP more often.
 */
const UDP_BYTES_MAX = 1232;
const HEADER_BYTES = 12;
/**
 * Messages with more records are rejected: a name made of pointers to pointers costs 0.2 ms, and a broken resolver
 * could stop the process. A lower limit would reject real answers: names with a hundred TXT records are known.
 */
const RECORDS_MAX = 300;
/** Longer chains of CNAME records are mistakes, or loops. Resolvers themselves follow 8 to 16. */
export const ALIASES_MAX = 8;

/** RFC 1035 §2.3.4: names that are longer, or have an empty label, cannot be queried. */
const ASKABLE = /^(?=.{1,253}$)[!-\-/-~]{1,63}(?:\.[!-\-/-~]{1,63})*$/;

export const isAskable = (name: string): boolean => ASKABLE.test(name);

/** Name in the form used for comparison. Characters that no host name contains become question marks. */
const plainName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\.$/, '')
    .replaceAll(/[^!-~]/g, '?');

/** @param edns false for a server that does not understand it (RFC 6891 §7). */
export const encodeQuestion = (id: number, { name, type }: Question, edns: boolean): Buffer =>
  encode({
    type: 'query',
    id,
    // AD in a query requests AD in the answer (RFC 6840 §5.7).
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

/** @throws {BadReply} if the message is truncated, or not DNS. */
const decodeWhole = (message: Buffer): DecodedPacket => {
  if (recordsOf(message) > RECORDS_MAX) throw new BadReply('an answer with too many records');
  try {
    const packet = decode(message);
    // If a record's length exceeds the message, the package reads past the end without an error.
    if (decode.bytes <= message.length) return packet;
  } catch {
    // The package's errors name byte offsets, which do not help anyone.
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
 * Reads a message as the reply to a question. @returns null if it replies to something else, and may come from another
 * sender (RFC 5452 §9.1). @throws {BadReply}
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

/** Reads a record of one type. @returns null if it has another type. */
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

/** CNAME records by owner. @throws {BadReply} if a name is an alias of two others (RFC 2181 §10.1). */
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

/** The names that `name` leads to by CNAME records, in order. @throws {BadReply} if there are too many. */
const followAliases = (answers: readonly Answer[], name: string): readonly string[] => {
  const aliases = aliasesIn(answers);
  const followed: string[] = [];
  for (let target = aliases.get(name); target !== undefined; target = aliases.get(target)) {
    followed.push(target);
    if (followed.length > ALIASES_MAX) throw new BadReply(`${name} leads in a circle, or over too many aliases`);
  }
  return followed;
};

/** Content of one reply about a name. */
export interface ReadAnswer<Found> {
  readonly answer: DnsAnswer<Found>;
  /** TTLs of all relevant records, in seconds. */
  readonly ttls: readonly number[];
  /** The answer ends in an alias whose records it does not contain. */
  readonly isOpen: boolean;
}

const notNull = <Value>(value: Value | null): value is Value => value !== null;

/** RFC 2308 §5: how long a negative answer is valid. */
const negativeTtls = ({ authorities }: Reply): readonly number[] =>
  authorities.flatMap((record) => (record.type === 'SOA' ? [Math.min(record.ttl ?? 0, record.data.minimum ?? 0)] : []));

/** Servers that do not resolve refer to others instead of answering (RFC 2308 §2.2). */
const refersToOthers = ({ authorities }: Reply): boolean => authorities.some(({ type }) => type === 'NS');

const withoutRecords = (reply: Reply, ttls: readonly number[], isAlias: boolean) => {
  const negatives = negativeTtls(reply);
  const saysNone = negatives.length > 0 || reply.rcode === RCODE.noSuchName;
  if (!saysNone && !isAlias && refersToOthers(reply)) {
    throw new BadReply('the server refers to others: it does not resolve');
  }
  // Without a TTL, a negative answer is kept for the minimum time.
  return { ttls: [...ttls, ...(negatives.length > 0 ? negatives : [0])], isOpen: !saysNone && isAlias };
};

/** Records of other names are ignored, since they can be forged. @throws {BadReply} */
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
