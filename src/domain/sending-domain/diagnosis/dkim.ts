import type { DkimKey } from '../events.ts';
import { dkimValue, hasQuotes, inStrings, isLong, told, withoutQuotes } from '../records-to-publish.ts';
import {
  absence,
  invalid,
  parseTagList,
  type Sighting,
  unanswered,
  VALID,
  type Verdict,
  wildcard,
} from './sighting.ts';

const KEY_TYPES = { 'rsa-sha256': 'rsa', 'ed25519-sha256': 'ed25519' } as const;
/** Shorter pieces occur in any key. */
const PIECE_CHARACTERS_MIN = 8;
/** Characters of a key that are shown, enough to compare by eye. */
const KEY_SHOWN = 24;

type Tags = ReadonlyMap<string, string>;

const withoutSpace = (text: string): string => text.replace(/\s+/g, '');
const shortKey = (key: string): string => told(key.length > KEY_SHOWN ? `${key.slice(0, KEY_SHOWN)}…` : key);
const asOneRecord = (value: string): string => (isLong(value) ? `: ${inStrings(value)}` : '');

/** Whether strings of one value were published as separate records. Verifiers use only one of them. */
const arePieces = (texts: readonly string[], value: string): boolean => {
  const whole = withoutSpace(value);
  const pieces = texts.map((text) => withoutSpace(withoutQuotes(text)));
  return (
    pieces.every((piece) => piece.length >= PIECE_CHARACTERS_MIN && whole.includes(piece)) &&
    pieces.join('').length >= whole.length
  );
};

const several = (texts: readonly string[], key: DkimKey): Verdict => {
  const value = dkimValue(key);
  return arePieces(texts, value)
    ? invalid(
        `the value was split into ${texts.length} records: publish one record, of several strings where one is too long${asOneRecord(value)}`,
      )
    : invalid(
        `there are ${texts.length} records, and receivers may take any of them (RFC 6376 §3.6.2.2): leave the one whose value begins with "${value.slice(0, KEY_SHOWN)}"`,
      );
};

/** RFC 6376 §3.6.1: `h` and `s` restrict the use of a key. */
const restriction = (tags: Tags): string | null => {
  const listed = (name: string): readonly string[] =>
    (tags.get(name) ?? '').split(':').map((one) => one.trim().toLowerCase());
  if (tags.has('h') && !listed('h').includes('sha256')) return 'h= does not allow sha256, by which mail is signed';
  if (tags.has('s') && !listed('s').some((service) => service === '*' || service === 'email')) {
    return 's= does not allow the key for mail';
  }
  return null;
};

const aboutKey = (found: string, key: DkimKey): string | null => {
  if (found === key.publicKey) return null;
  if (found === '') return 'its p= is empty, which revokes the key: publish the value again';
  if (found.length > KEY_SHOWN && key.publicKey.startsWith(found)) {
    return `its key was cut off after ${found.length} of ${key.publicKey.length} characters: publish it in several strings of one record${asOneRecord(dkimValue(key))}`;
  }
  return `its key is p=${shortKey(found)}, and should be p=${shortKey(key.publicKey)}`;
};

/** The first problem that keeps verifiers from using the record, in their order of evaluation. */
const problemIn = (tags: Tags, key: DkimKey): string | null => {
  const version = tags.get('v');
  const isFirst = [...tags.keys()][0] === 'v';
  if (version !== undefined && (version !== 'DKIM1' || !isFirst)) return 'v=DKIM1 has to stand first in it';
  const type = (tags.get('k') ?? 'rsa').toLowerCase();
  if (type !== KEY_TYPES[key.algorithm])
    return `its key type is k=${type}, and should be k=${KEY_TYPES[key.algorithm]}`;
  const found = tags.get('p');
  if (found === undefined) return `it has no key (p=): the value should be ${told(dkimValue(key))}`;
  return aboutKey(withoutSpace(found), key) ?? restriction(tags);
};

const single = (text: string, sighting: Sighting, key: DkimKey): Verdict => {
  const tags = parseTagList(text);
  const problem = tags === null ? 'it is no list of tags' : problemIn(tags, key);
  if (problem === null) return VALID;
  if (sighting.isWildcard) return wildcard(sighting.host);
  const cleanTags = hasQuotes(text) ? parseTagList(withoutQuotes(text)) : null;
  if (cleanTags !== null && problemIn(cleanTags, key) === null) {
    return invalid('the value has quotes or backslashes in it: publish it without them');
  }
  return tags === null
    ? invalid(`the value is ${told(text)}, and should be ${told(dkimValue(key))}`)
    : invalid(`the record is wrong: ${problem}`);
};

/** Diagnoses a key record (RFC 6376 §3.6.1) by meaning: the order of tags and spaces does not matter. */
export const diagnoseDkim = (sighting: Sighting, key: DkimKey): Verdict => {
  const { host, answer } = sighting;
  if (answer === null) return unanswered(host);
  const [first, ...others] = answer.records;
  if (first === undefined) return absence(sighting, 'TXT');
  if (others.length === 0) return single(first, sighting, key);
  return sighting.isWildcard ? wildcard(host) : several(answer.records, key);
};
