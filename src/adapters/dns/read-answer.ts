import type { DnsAnswer } from '../../domain/resolver.ts';
import { BadReply } from './bad-reply.ts';
import { followAliases } from './follow-aliases.ts';
import { plainName } from './question.ts';
import type { ReadRecord } from './records.ts';
import { RCODE, type Reply } from './reply.ts';

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

/** Records of names that were not asked about are not read: anybody may say anything of them. */
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

const withoutRecords = (reply: Reply, ttls: readonly number[], isAlias: boolean) => {
  const negatives = negativeTtls(reply);
  const saysNone = negatives.length > 0 || reply.rcode === RCODE.noSuchName;
  if (!saysNone && !isAlias && refersToOthers(reply)) {
    throw new BadReply('the server refers to others: it does not resolve');
  }
  // What nobody says how long to believe is believed as short as may be.
  return { ttls: [...ttls, ...(negatives.length > 0 ? negatives : [0])], isOpen: !saysNone && isAlias };
};
