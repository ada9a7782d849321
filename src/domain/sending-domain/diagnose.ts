import type { DkimKey, SeenRecord } from './events.ts';
import {
  asSentence,
  dkimValue,
  hasQuotes,
  inStrings,
  isLong,
  type RecordToPublish,
  shownValues,
  told,
  withoutQuotes,
} from './records-to-publish.ts';
import {
  absence,
  diagnoseSpf,
  invalid,
  missing,
  parseTagList,
  type Sighting,
  unanswered,
  VALID,
  type Verdict,
  wildcard,
} from './spf.ts';

/** The proof ignores surrounding spaces and letter case. */
const meaning = (text: string): string => text.trim().toLowerCase();

/** Other services may publish proofs at the same host. One of the records must be this service's. */
export const diagnoseOwnership = (sighting: Sighting, expected: string): Verdict => {
  const { host, answer, isWildcard } = sighting;
  if (answer === null) return unanswered(host);
  const [first] = answer.records;
  if (first === undefined) return absence(sighting, 'TXT');
  if (answer.records.some((text) => meaning(text) === meaning(expected))) return VALID;
  const quoted = answer.records.find((text) => hasQuotes(text) && meaning(withoutQuotes(text)) === meaning(expected));
  if (quoted !== undefined) return invalid(`the value contains quotes: publish ${expected} without quotes`);
  if (isWildcard) return wildcard(host);
  return invalid(`the value is ${answer.records.map(told).slice(0, 3).join(', ')}, but should be "${expected}"`);
};

const plainTarget = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** Diagnoses the CNAME of a return path or tracking host. Its target's own records are not checked. */
export const diagnoseAlias = (sighting: Sighting, expected: string): Verdict => {
  const { host, answer } = sighting;
  if (answer === null) return unanswered(host);
  const [target] = answer.aliases;
  if (target === undefined) return absence(sighting, 'CNAME');
  return plainTarget(target) === plainTarget(expected)
    ? VALID
    : invalid(`the host ${host} is a CNAME to ${plainTarget(target)}, but should be a CNAME to ${expected}`);
};

/** @param texts MX records, `<preference> <host>`. @returns the hosts that mail goes to first. */
const preferredHosts = (texts: readonly string[]): readonly string[] => {
  const records = texts
    .map((text) => text.split(' '))
    .map(([preference, host = '']) => [Number(preference), host] as const);
  const best = Math.min(...records.map(([preference]) => preference));
  return records.filter(([preference]) => preference === best).map(([, host]) => plainTarget(host));
};

/** Diagnoses the MX records as senders use them: mail goes to a host with the lowest preference (RFC 5321 §5.1). */
export const diagnoseMx = (sighting: Sighting, expected: string): Verdict => {
  const { host, answer } = sighting;
  if (answer === null) return unanswered(host);
  if (answer.records.length === 0) return absence(sighting, 'MX');
  const [wanted = ''] = preferredHosts([expected]);
  const hosts = preferredHosts(answer.records);
  if (hosts.length === 1 && hosts[0] === wanted) return VALID;
  return hosts.includes(wanted)
    ? invalid(`the MX records of ${host} lead a part of the mail to other servers: give this service the lowest number`)
    : invalid(`mail for ${host} goes to ${hosts.map(told).slice(0, 3).join(', ')}, but should go to ${wanted}`);
};

/** RFC 7489 §6.3: the version comes first. */
const DMARC = /^v\s*=\s*DMARC1\s*(?:;|$)/;
const POLICIES = ['none', 'quarantine', 'reject'];

const problemInPolicy = (text: string): string | null => {
  const policy = parseTagList(text)?.get('p');
  if (policy === undefined) {
    return `the DMARC record ${told(text)} has no policy: add p=none, p=quarantine or p=reject`;
  }
  return POLICIES.includes(policy.toLowerCase())
    ? null
    : `the policy of the DMARC record is p=${told(policy)}, but should be none, quarantine or reject`;
};

/** Diagnoses the policy as receivers read it: several records invalidate each other (RFC 7489 §6.6.3). */
export const diagnoseDmarc = (sighting: Sighting): Verdict => {
  const { host, answer } = sighting;
  if (answer === null) return unanswered(host);
  if (answer.records.length === 0) return absence(sighting, 'TXT');
  const [first, ...others] = answer.records.filter((text) => DMARC.test(text));
  if (first === undefined) {
    return answer.records.some((text) => hasQuotes(text) && DMARC.test(withoutQuotes(text)))
      ? invalid('the DMARC record contains quotes: publish it without quotes')
      : missing(`there is no DMARC record (v=DMARC1; p=…) among the TXT records of ${host}`);
  }
  if (others.length > 0) {
    return invalid(
      `this host has ${others.length + 1} DMARC records. Receivers ignore all of them (RFC 7489 §6.6.3): keep only one`,
    );
  }
  const problem = problemInPolicy(first);
  return problem === null ? VALID : invalid(problem);
};

const verdictOn = ({ kind, value, key, includes = null }: RecordToPublish, sighting: Sighting): Verdict => {
  switch (kind) {
    case 'ownership':
      return diagnoseOwnership(sighting, value);
    case 'dkim':
      if (key === undefined) throw new Error(`the DKIM record of ${sighting.host} names no key`);
      return diagnoseDkim(sighting, key);
    case 'return_path':
    case 'tracking':
      return diagnoseAlias(sighting, value);
    case 'spf':
      return diagnoseSpf(sighting, includes);
    case 'dmarc':
      return diagnoseDmarc(sighting);
    case 'mx':
      return diagnoseMx(sighting, value);
    default:
      return kind satisfies never;
  }
};

/** The state of one record, with an explanation for the person who published it. */
export const diagnose = (record: RecordToPublish, sighting: Sighting): SeenRecord => {
  const { state, problem } = verdictOn(record, sighting);
  const { answer, doubled } = sighting;
  const found = record.type === 'CNAME' ? answer?.aliases : (doubled?.texts ?? answer?.records);
  return {
    kind: record.kind,
    host: record.host,
    state,
    problem: problem === null ? null : asSentence(problem),
    seen: [...shownValues(found ?? [])],
  };
};

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
        `the value was split into ${texts.length} records: publish one record that consists of several strings${asOneRecord(value)}`,
      )
    : invalid(
        `this host has ${texts.length} records, and receivers may use any of them (RFC 6376 §3.6.2.2): keep only the one whose value begins with "${value.slice(0, KEY_SHOWN)}"`,
      );
};

/** RFC 6376 §3.6.1: `h` and `s` restrict the use of a key. */
const restriction = (tags: Tags): string | null => {
  const listed = (name: string): readonly string[] =>
    (tags.get(name) ?? '').split(':').map((one) => one.trim().toLowerCase());
  if (tags.has('h') && !listed('h').includes('sha256')) return 'h= does not allow sha256, which mail is signed with';
  if (tags.has('s') && !listed('s').some((service) => service === '*' || service === 'email')) {
    return 's= does not allow the key for mail';
  }
  return null;
};

const aboutKey = (found: string, key: DkimKey): string | null => {
  if (found === key.publicKey) return null;
  if (found === '') return 'p= is empty, which revokes the key: publish the value again';
  if (found.length > KEY_SHOWN && key.publicKey.startsWith(found)) {
    return `the key was cut off after ${found.length} of ${key.publicKey.length} characters: publish it as several strings in one record${asOneRecord(dkimValue(key))}`;
  }
  return `the key is p=${shortKey(found)}, but should be p=${shortKey(key.publicKey)}`;
};

/** The first problem that keeps verifiers from using the record, in their order of evaluation. */
const problemInKey = (tags: Tags, key: DkimKey): string | null => {
  const version = tags.get('v');
  const isFirst = [...tags.keys()][0] === 'v';
  if (version !== undefined && (version !== 'DKIM1' || !isFirst)) return 'v=DKIM1 must come first';
  const type = (tags.get('k') ?? 'rsa').toLowerCase();
  if (type !== KEY_TYPES[key.algorithm])
    return `the key type is k=${type}, but should be k=${KEY_TYPES[key.algorithm]}`;
  const found = tags.get('p');
  if (found === undefined) return `it has no key (p=): the value should be ${told(dkimValue(key))}`;
  return aboutKey(withoutSpace(found), key) ?? restriction(tags);
};

const single = (text: string, sighting: Sighting, key: DkimKey): Verdict => {
  const tags = parseTagList(text);
  const problem = tags === null ? 'it is not a list of tags' : problemInKey(tags, key);
  if (problem === null) return VALID;
  if (sighting.isWildcard) return wildcard(sighting.host);
  const cleanTags = hasQuotes(text) ? parseTagList(withoutQuotes(text)) : null;
  if (cleanTags !== null && problemInKey(cleanTags, key) === null) {
    return invalid('the value contains quotes or backslashes: publish it without them');
  }
  return tags === null
    ? invalid(`the value is ${told(text)}, but should be ${told(dkimValue(key))}`)
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
