import type { Answer, DecodedPacket, Packet, Question } from 'dns-packet';
import type { Misbehaviour } from './dns-misbehaviours.ts';

/** Records of a name. Names that the zone does not have do not exist (NXDOMAIN). */
export interface NameData {
  readonly A?: readonly string[];
  readonly AAAA?: readonly string[];
  readonly MX?: readonly (readonly [preference: number, exchange: string])[];
  /** A text longer than 255 bytes is split into strings. An array is sent unchanged. */
  readonly TXT?: readonly (string | readonly string[])[];
  /** `usage selector matchingType hex` as in a zone file. */
  readonly TLSA?: readonly string[];
  /** Followed within the zone. More than one alias is against the rules, but is answered. */
  readonly CNAME?: string | readonly string[];
  /** The answer ends at the alias and omits the records of its target. */
  readonly aliasOnly?: boolean;
  /** TTL in seconds. Default: 60. */
  readonly ttl?: number;
  /** Sets AD, as a resolver does after it has validated the answer. */
  readonly authenticated?: boolean;
  /**
   * Applies to every query, or to those that the function selects: `nth` counts queries for this name and type from 0.
   */
  readonly wrong?: Misbehaviour | ((nth: number, type: string) => Misbehaviour | null);
  /** Delay before the answer. */
  readonly delayMs?: number;
}

/** Names are in lower case, without the final dot. */
export type Zone = Readonly<Record<string, NameData>>;

const TTL_SECONDS = 60;
const NEGATIVE_SECONDS = 30;
const TXT_BYTES_MAX = 255;
/** RFC 1035 §4.1.1. */
export const FLAGS = { aa: 1 << 10, tc: 1 << 9, rd: 1 << 8, ra: 1 << 7, ad: 1 << 5 };
const NO_SUCH_NAME = 3;

const strings = (text: string | readonly string[]): string[] =>
  typeof text === 'string'
    ? Array.from({ length: Math.max(Math.ceil(text.length / TXT_BYTES_MAX), 1) }, (_, at) =>
        text.slice(at * TXT_BYTES_MAX, (at + 1) * TXT_BYTES_MAX),
      )
    : [...text];

const tlsa = (text: string) => {
  const [usage, selector, matchingType, hex = ''] = text.split(' ');
  return {
    usage: Number(usage),
    selector: Number(selector),
    matchingType: Number(matchingType),
    certificate: Buffer.from(hex, 'hex'),
  };
};

const aliasesOf = ({ CNAME = [] }: NameData): readonly string[] => [CNAME].flat();

const recordsOf = (name: string, type: string, data: NameData): Answer[] => {
  const of = { name, ttl: data.ttl ?? TTL_SECONDS };
  const aliases = aliasesOf(data).map((target): Answer => ({ ...of, type: 'CNAME', data: target }));
  if (aliases.length > 0) return aliases;
  const byType: Readonly<Record<string, () => Answer[]>> = {
    A: () => (data.A ?? []).map((address) => ({ ...of, type: 'A', data: address })),
    AAAA: () => (data.AAAA ?? []).map((address) => ({ ...of, type: 'AAAA', data: address })),
    MX: () => (data.MX ?? []).map(([preference, exchange]) => ({ ...of, type: 'MX', data: { preference, exchange } })),
    TXT: () => (data.TXT ?? []).map((text) => ({ ...of, type: 'TXT', data: strings(text) })),
    TLSA: () => (data.TLSA ?? []).map((text) => ({ ...of, type: 'TLSA', data: tlsa(text) })),
  };
  return byType[type]?.() ?? [];
};

const soa = (name: string): Answer => ({
  type: 'SOA',
  name,
  ttl: NEGATIVE_SECONDS,
  data: { mname: 'ns.test', rname: 'root.test', serial: 1, minimum: NEGATIVE_SECONDS },
});

interface WalkResult {
  readonly answers: Answer[];
  /** True if the last name exists. */
  readonly exists: boolean;
  /** The chain ends in an alias that is not followed. */
  readonly isOpen: boolean;
}

/** Collects the records along the aliases within the zone. */
const walk = (zone: Map<string, NameData>, name: string, type: string): WalkResult => {
  const answers: Answer[] = [];
  const seen = new Set<string>();
  for (let at: string | undefined = name; at !== undefined && !seen.has(at); ) {
    seen.add(at);
    const data = zone.get(at);
    if (data === undefined) return { answers, exists: false, isOpen: false };
    answers.push(...recordsOf(at, type, data));
    if (data.aliasOnly === true) return { answers, exists: true, isOpen: true };
    at = aliasesOf(data)[0]?.toLowerCase();
  }
  return { answers, exists: true, isOpen: false };
};

/** The answer of a correct resolver for the names in the zone. */
export const rightAnswer = (zone: Map<string, NameData>, query: DecodedPacket, { name, type }: Question): Packet => {
  const { answers, exists, isOpen } = walk(zone, name.toLowerCase(), type);
  const last = answers.at(-1);
  const hasRecords = last !== undefined && last.type !== 'CNAME';
  const rcode = exists ? 0 : NO_SUCH_NAME;
  const ad = zone.get(name.toLowerCase())?.authenticated === true ? FLAGS.ad : 0;
  return {
    type: 'response',
    id: query.id ?? 0,
    flags: FLAGS.rd | FLAGS.ra | ad | rcode,
    questions: [{ name, type }],
    answers,
    authorities: hasRecords || isOpen ? [] : [soa(name)],
  };
};
