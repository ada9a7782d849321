import type { RecordSeen } from '../events.ts';
import {
  asSentence,
  hasQuotes,
  type RecordToPublish,
  shownValues,
  told,
  withoutQuotes,
} from '../records-to-publish.ts';
import { diagnoseDkim } from './dkim.ts';
import {
  absence,
  invalid,
  missing,
  parseTagList,
  type Sighting,
  unanswered,
  VALID,
  type Verdict,
  wildcard,
} from './sighting.ts';
import { diagnoseSpf } from './spf.ts';

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
  if (quoted !== undefined) return invalid(`the value has quotes in it: publish ${expected} without them`);
  if (isWildcard) return wildcard(host);
  return invalid(`the value is ${answer.records.map(told).slice(0, 3).join(', ')}, and should be "${expected}"`);
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
    : invalid(`the host ${host} is a CNAME to ${plainTarget(target)}, and should be one to ${expected}`);
};

/** RFC 7489 §6.3: the version comes first. */
const DMARC = /^v\s*=\s*DMARC1\s*(?:;|$)/;
const POLICIES = ['none', 'quarantine', 'reject'];

const problemIn = (text: string): string | null => {
  const policy = parseTagList(text)?.get('p');
  if (policy === undefined) {
    return `the DMARC record ${told(text)} has no policy: p=none, p=quarantine or p=reject`;
  }
  return POLICIES.includes(policy.toLowerCase())
    ? null
    : `the policy of the DMARC record is p=${told(policy)}, and should be none, quarantine or reject`;
};

/** Diagnoses the policy as receivers read it: several records invalidate each other (RFC 7489 §6.6.3). */
export const diagnoseDmarc = (sighting: Sighting): Verdict => {
  const { host, answer } = sighting;
  if (answer === null) return unanswered(host);
  if (answer.records.length === 0) return absence(sighting, 'TXT');
  const [first, ...others] = answer.records.filter((text) => DMARC.test(text));
  if (first === undefined) {
    return answer.records.some((text) => hasQuotes(text) && DMARC.test(withoutQuotes(text)))
      ? invalid('the DMARC record has quotes in it: publish it without them')
      : missing(`there is no DMARC record (v=DMARC1; p=…) among the TXT records of ${host}`);
  }
  if (others.length > 0) {
    return invalid(
      `there are ${others.length + 1} DMARC records, and receivers take none of several (RFC 7489 §6.6.3): leave one`,
    );
  }
  const problem = problemIn(first);
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
    default:
      return kind satisfies never;
  }
};

/** The state of one record, with an explanation for the person who published it. */
export const diagnose = (record: RecordToPublish, sighting: Sighting): RecordSeen => {
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
