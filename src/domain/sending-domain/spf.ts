import type { DnsAnswer } from '../../lib/smtp/smtp.ts';
import type { RecordState } from './events.ts';
import { hasQuotes, told, withoutQuotes } from './records-to-publish.ts';

/** Diagnoses whether a domain's SPF record lets this service's mail pass (RFC 7208), and why not. */

/** Result of evaluating an SPF record with all its includes. */
interface SpfReach {
  /** If more than `LOOKUPS_MAX`, the rest was not followed. */
  readonly lookups: number;
  /** Whether mail of at least one host passes. */
  readonly permits: boolean;
  /** Names whose own records let mail pass. */
  readonly passing: ReadonlySet<string>;
  /** The first included name whose record receivers cannot use, which ends their check (RFC 7208 §5.2). */
  readonly broken: { readonly host: string; readonly problem: string } | null;
  /** The first name whose record is unknown: the DNS did not answer, or the name depends on the mail. */
  readonly unknown: string | null;
}

type UsableRecord = Extract<SpfRecord, { kind: 'record' }>;

type IncludedRecord =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'broken'; readonly problem: string }
  | UsableRecord;

const recordAt = (host: string, included: IncludedAnswers): IncludedRecord => {
  if (host.includes('%')) return { kind: 'unknown' };
  if (!canBeAsked(host)) return { kind: 'broken', problem: 'is not a valid name' };
  const answer = included.get(host) ?? null;
  if (answer === null) return { kind: 'unknown' };
  const record = spfRecordIn(answer.records);
  if (record.kind === 'none') return { kind: 'broken', problem: 'has no SPF record' };
  return record.kind === 'broken' ? { ...record, problem: `has an SPF record that ${record.problem}` } : record;
};

interface Walk extends SpfReach {
  readonly open: readonly SpfInclude[];
}

const withRecord = (walk: Walk, { lookups, permits, includes }: UsableRecord, passes: boolean): Walk => ({
  ...walk,
  lookups: walk.lookups + lookups,
  permits: walk.permits || (permits && passes),
  open: [...walk.open, ...includes.map((each) => ({ ...each, passes: each.passes && passes }))],
});

const onwards = (walk: Walk, { host, passes }: SpfInclude, included: IncludedAnswers): Walk => {
  const found = recordAt(host, included);
  const here = passes ? { ...walk, passing: new Set([...walk.passing, host]) } : walk;
  switch (found.kind) {
    case 'unknown':
      return { ...here, unknown: here.unknown ?? host };
    case 'broken':
      return { ...here, broken: here.broken ?? { host, problem: found.problem } };
    case 'record':
      return withRecord(here, found, passes);
    default:
      return found satisfies never;
  }
};

/** Follows the includes. Records that include each other end where receivers stop, because each costs a lookup. */
const spfReach = (record: UsableRecord, included: IncludedAnswers): SpfReach => {
  const start = { lookups: 0, permits: false, passing: new Set<string>(), broken: null, unknown: null, open: [] };
  let walk: Walk = withRecord(start, record, true);
  for (let [next] = walk.open; next !== undefined && walk.lookups <= LOOKUPS_MAX; [next] = walk.open) {
    walk = onwards({ ...walk, open: walk.open.slice(1) }, next, included);
  }
  return walk;
};

/** Names that a name's TXT records include in SPF and that can be queried. */
export const spfTargets = (texts: readonly string[]): readonly string[] => {
  const record = spfRecordIn(texts);
  return record.kind === 'record' ? record.includes.map(({ host }) => host).filter(canBeAsked) : [];
};

type Usable = Extract<SpfRecord, { kind: 'record' }>;

const NONE: IncludedAnswers = new Map();

const ofOperator = (problem: string): Verdict => ({
  state: 'include_broken',
  problem: `${problem}. Your record is correct: the operator of this service must repair theirs`,
});

/** Checks the record of this service's own name, which the domain's record includes. */
const operatorsFault = (wanted: string, included: IncludedAnswers): Verdict | null => {
  const answer = included.get(wanted) ?? null;
  if (answer === null) return unanswered(wanted);
  const record = spfRecordIn(answer.records);
  switch (record.kind) {
    case 'none':
      return ofOperator(`the included name ${wanted} has no SPF record`);
    case 'broken':
      return ofOperator(`the SPF record of the included name ${wanted} ${record.problem}`);
    case 'record': {
      const { permits, unknown } = spfReach(record, included);
      return permits || unknown !== null
        ? null
        : ofOperator(`the SPF record of the included name ${wanted} permits no server to send`);
    }
    default:
      return record satisfies never;
  }
};

const unknown = (host: string): Verdict =>
  host.includes('%')
    ? {
        state: 'unknown',
        problem: `the SPF record includes ${told(host)}, which depends on the mail, so it cannot be checked`,
      }
    : unanswered(host);

const whole = (reach: SpfReach): Verdict => {
  if (reach.lookups > LOOKUPS_MAX) {
    const lookups = `more than the ${LOOKUPS_MAX} DNS look-ups that receivers make (RFC 7208 §4.6.4)`;
    return invalid(`the SPF record and the names that it includes need ${lookups}`);
  }
  if (reach.broken !== null) {
    const { host, problem } = reach.broken;
    return invalid(`the SPF record is broken, because it includes ${told(host)}, which ${problem} (RFC 7208 §5.2)`);
  }
  return VALID;
};

const judged = (record: Usable, wanted: string | null, included: IncludedAnswers): Verdict => {
  const reach = spfReach(record, included);
  const isWanted = wanted === null ? reach.permits : reach.passing.has(wanted);
  const fault = wanted !== null && isWanted ? operatorsFault(wanted, included) : null;
  if (fault !== null) return fault;
  const verdict = whole(reach);
  if (verdict.state !== 'valid' || isWanted) return verdict;
  if (reach.unknown !== null) return unknown(reach.unknown);
  if (!reach.permits) return invalid('the SPF record permits no server to send, so this mail fails SPF');
  return invalid(`the SPF record does not include ${wanted}: add include:${wanted} before “all”`);
};

/**
 * Diagnoses the SPF record of a domain with its includes.
 * @param wanted name that it must include or redirect to, so that this service's mail passes; null if any hosts will
 * do.
 */
export const diagnoseSpf = (sighting: Sighting, wanted: string | null): Verdict => {
  const { host, answer, included = NONE } = sighting;
  if (answer === null) return unanswered(host);
  if (answer.records.length === 0) return absence(sighting, 'TXT');
  const record = spfRecordIn(answer.records);
  switch (record.kind) {
    case 'none':
      return record.isQuoted
        ? invalid('the SPF record contains quotes: publish it without quotes')
        : missing(`there is no SPF record (v=spf1 …) among the TXT records of ${host}`);
    case 'broken':
      return invalid(`the SPF record ${record.problem}`);
    case 'record':
      return judged(record, wanted, included);
    default:
      return record satisfies never;
  }
};

/** RFC 7208 §4.5: the version, followed by nothing or a space. */
const SPF = /^v=spf1(?: |$)/i;
/** RFC 7208 §12, except for macro expansions. */
const TERM =
  /^(?:[+?~-]?(?:all|(?:include|exists):\S+|(?:a|mx)(?::[^\s/]+)?(?:\/\d{1,2})?(?:\/\/\d{1,3})?|ptr(?::\S+)?|ip4:[\d.]+(?:\/\d{1,2})?|ip6:[\da-f:.]+(?:\/\d{1,3})?)|[a-z][\w.-]*=\S*)$/i;
const ALL = /^[+?~-]?all$/i;
/** Terms that cost receivers a lookup, and the maximum number of lookups (RFC 7208 §4.6.4). */
const LOOKUP = /^[+?~-]?(?:include:|exists:|ptr|a(?:$|[:/])|mx(?:$|[:/]))|^redirect=/i;
export const LOOKUPS_MAX = 10;
/** A term that lets hosts pass: it has no other qualifier (RFC 7208 §4.6.2) and does not refer to another record. */
const PERMITTING = /^\+?(?:all$|exists:|ptr|a(?:$|[:/])|mx(?:$|[:/])|ip[46]:)/i;
const INCLUDE = /^([+?~-]?)include:(.+)$/i;
const REDIRECT = /^redirect=(.+)$/i;

/** Longer records are not read to the end by anyone, and take time to parse. */
const SPF_CHARACTERS_MAX = 4096;

/** Another name whose record is evaluated too. */
interface SpfInclude {
  /** Lower case, without a trailing dot. */
  readonly host: string;
  /** Whether a pass there is a pass here. */
  readonly passes: boolean;
}

type SpfRecord =
  | { readonly kind: 'none'; readonly isQuoted: boolean }
  /** Receivers cannot use the record. `problem` has a verb but no subject. */
  | { readonly kind: 'broken'; readonly problem: string }
  | {
      readonly kind: 'record';
      /** Lookups caused by its own terms. */
      readonly lookups: number;
      readonly permits: boolean;
      readonly includes: readonly SpfInclude[];
    };

const asHost = (text: string): string => text.toLowerCase().replace(/\.$/, '');

const problemIn = (text: string, terms: readonly string[]): string | null => {
  if (text.length > SPF_CHARACTERS_MAX) return 'is too long';
  const wrong = terms.find((term) => !TERM.test(term));
  if (wrong !== undefined) return `contains ${told(wrong)}, which is not a valid SPF term (RFC 7208 §5)`;
  const lookups = terms.filter((term) => LOOKUP.test(term)).length;
  return lookups > LOOKUPS_MAX
    ? `needs ${lookups} DNS look-ups, but receivers make at most ${LOOKUPS_MAX} (RFC 7208 §4.6.4)`
    : null;
};

/** Terms that receivers evaluate: none after `all`, and no redirect if there is an `all` (RFC 7208 §5.1, §6.1). */
const reached = (terms: readonly string[]): readonly string[] => {
  const all = terms.findIndex((term) => ALL.test(term));
  return all === -1 ? terms : terms.slice(0, all + 1).filter((term) => !REDIRECT.test(term));
};

const includeIn = (term: string): readonly SpfInclude[] => {
  const [, qualifier, included] = INCLUDE.exec(term) ?? [];
  if (included !== undefined) return [{ host: asHost(included), passes: qualifier === '' || qualifier === '+' }];
  const [, target] = REDIRECT.exec(term) ?? [];
  return target === undefined ? [] : [{ host: asHost(target), passes: true }];
};

const taken = (text: string): SpfRecord => {
  const terms = text.slice(0, SPF_CHARACTERS_MAX).trim().split(/ +/).slice(1);
  const problem = problemIn(text, terms);
  if (problem !== null) return { kind: 'broken', problem };
  const counting = reached(terms);
  return {
    kind: 'record',
    lookups: counting.filter((term) => LOOKUP.test(term)).length,
    permits: counting.some((term) => PERMITTING.test(term)),
    includes: counting.flatMap(includeIn),
  };
};

/** The SPF record among the TXT records of a name, as receivers select it. */
const spfRecordIn = (texts: readonly string[]): SpfRecord => {
  const [first, ...others] = texts.filter((text) => SPF.test(text));
  if (first === undefined) {
    return { kind: 'none', isQuoted: texts.some((text) => hasQuotes(text) && SPF.test(withoutQuotes(text))) };
  }
  return others.length === 0
    ? taken(first)
    : {
        kind: 'broken',
        problem: `is one of ${others.length + 1}. Receivers ignore all of them: merge them into one (RFC 7208 §4.5)`,
      };
};

/** Names that can be queried. Those with macros (RFC 7208 §7) depend on the mail. */
const HOST = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+$/;
const canBeAsked = (host: string): boolean => HOST.test(host);

/** RFC 6376 §3.2 tag-name. */
const NAME = /^[a-z]\w*$/i;

/** The largest key needs a tenth of this. Longer records are not meant for this service and take time to parse. */
const TAG_LIST_CHARACTERS_MAX = 8192;

/**
 * Tags of a DKIM key record or DMARC policy in order, trimmed. Null if the text is not a tag list or repeats a tag,
 * which makes the whole list invalid (RFC 6376 §3.2).
 */
export const parseTagList = (text: string): ReadonlyMap<string, string> | null => {
  if (text.length > TAG_LIST_CHARACTERS_MAX) return null;
  const parts = text.split(';');
  if (parts.at(-1)?.trim() === '') parts.pop();
  const tags = new Map<string, string>();
  for (const part of parts) {
    const equals = part.indexOf('=');
    const name = part.slice(0, Math.max(0, equals)).trim();
    if (!NAME.test(name) || tags.has(name)) return null;
    tags.set(name, part.slice(equals + 1).trim());
  }
  return tags;
};

/** DNS answers for the names that an SPF record includes, by name; null if the DNS did not answer. */
export type IncludedAnswers = ReadonlyMap<string, DnsAnswer<string> | null>;

/** Records at a doubled host name: the provider's form appended the domain once more. */
export interface DoubledHost {
  readonly host: string;
  readonly texts: readonly string[];
}

/** All answers about one record. */
export interface Sighting {
  readonly host: string;
  /** Null if the DNS did not answer. For a CNAME record, the answer to a query that follows it. */
  readonly answer: DnsAnswer<string> | null;
  readonly doubled: DoubledHost | null;
  /** True if an unpublished, random name has the same answer. */
  readonly isWildcard: boolean;
  /** For an SPF record: answers for the names that it includes. */
  readonly included?: IncludedAnswers;
  readonly domain: {
    readonly name: string;
    /** False if the DNS says that the name does not exist. */
    readonly exists: boolean;
  };
}

/** State of a record. `problem` is one sentence without its full stop. */
export interface Verdict {
  readonly state: RecordState;
  readonly problem: string | null;
}

export const VALID: Verdict = { state: 'valid', problem: null };
export const invalid = (problem: string): Verdict => ({ state: 'invalid', problem });
export const missing = (problem: string): Verdict => ({ state: 'missing', problem });

export const unanswered = (host: string): Verdict => ({
  state: 'unknown',
  problem: `the DNS does not answer for ${host}, so the record could not be checked: it is checked again automatically`,
});

const misplaced = ({ host, domain }: Sighting, published: string): Verdict => {
  const appended = published.slice(host.length + 1);
  const wanted = host.endsWith(`.${appended}`) ? host.slice(0, -appended.length - 1) : host;
  return missing(
    `the record is at ${published}, because your DNS provider appends ${appended} automatically: enter ${wanted} as the host (domain ${domain.name})`,
  );
};

/** Explains why a host has no such record. @param what `TXT` or `CNAME`. */
export const absence = (sighting: Sighting, what: 'TXT' | 'CNAME' | 'MX'): Verdict => {
  const { host, answer, doubled, domain } = sighting;
  const alias = answer?.aliases.at(-1);
  if (doubled !== null) return misplaced(sighting, doubled.host);
  if (alias !== undefined) {
    return invalid(
      `the host ${host} is a CNAME that leads to ${alias}, which does not have this record. A host with a CNAME cannot have other records: remove the CNAME`,
    );
  }
  if (!domain.exists) {
    return missing(`the domain ${domain.name} does not exist in the DNS (NXDOMAIN): register it, or correct the name`);
  }
  const nothing = answer?.exists === true ? `no ${what} record` : 'nothing at all';
  return missing(`there is ${nothing} at ${host}`);
};

export const wildcard = (host: string): Verdict =>
  invalid(
    `a wildcard record (*) answers for the host ${host}: publish this record at ${host} itself, in addition to the wildcard`,
  );
