import { told } from '../records-to-publish.ts';
import {
  absence,
  type IncludedAnswers,
  invalid,
  missing,
  type Sighting,
  unanswered,
  VALID,
  type Verdict,
} from './sighting.ts';
import { canBeAsked, LOOKUPS_MAX, type SpfInclude, type SpfRecord, spfRecordIn } from './spf-record.ts';

/** Diagnoses whether a domain's SPF record lets this service's mail pass (RFC 7208), and why not. */

/** Result of evaluating an SPF record with all its includes. */
export interface SpfReach {
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

type Found = { readonly kind: 'unknown' } | { readonly kind: 'broken'; readonly problem: string } | UsableRecord;

const recordAt = (host: string, included: IncludedAnswers): Found => {
  if (host.includes('%')) return { kind: 'unknown' };
  if (!canBeAsked(host)) return { kind: 'broken', problem: 'is no name' };
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
export const spfReach = (record: UsableRecord, included: IncludedAnswers): SpfReach => {
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
  problem: `${problem}: the record is as it should be, and whoever runs this service has to mend that name’s`,
});

/** Checks the record of this service's own name, which the domain's record includes. */
const operatorsFault = (wanted: string, included: IncludedAnswers): Verdict | null => {
  const answer = included.get(wanted) ?? null;
  if (answer === null) return unanswered(wanted);
  const record = spfRecordIn(answer.records);
  switch (record.kind) {
    case 'none':
      return ofOperator(
        `the name ${wanted}, which it includes, has no SPF record, which breaks every record that includes it`,
      );
    case 'broken':
      return ofOperator(`the SPF record of ${wanted}, which it includes, ${record.problem}`);
    case 'record': {
      const { permits, unknown } = spfReach(record, included);
      return permits || unknown !== null
        ? null
        : ofOperator(`the SPF record of ${wanted}, which it includes, permits nobody to send`);
    }
    default:
      return record satisfies never;
  }
};

const unknown = (host: string): Verdict =>
  host.includes('%')
    ? { state: 'unknown', problem: `what the SPF record permits depends on the mail: it includes ${told(host)}` }
    : unanswered(host);

const whole = (reach: SpfReach): Verdict => {
  if (reach.lookups > LOOKUPS_MAX) {
    const lookups = `more than the ${LOOKUPS_MAX} look-ups that receivers make (RFC 7208 §4.6.4)`;
    return invalid(`the SPF record needs ${lookups}, with those of the names that it includes`);
  }
  if (reach.broken !== null) {
    const { host, problem } = reach.broken;
    return invalid(`the SPF record includes ${told(host)}, which ${problem}, and is broken by that (RFC 7208 §5.2)`);
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
  if (!reach.permits) return invalid('the SPF record permits nobody to send, and so forbids this mail');
  return invalid(`the SPF record does not include ${wanted}: add include:${wanted} to it, before its “all”`);
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
        ? invalid('the SPF record has quotes in it: publish it without them')
        : missing(`there is no SPF record (v=spf1 …) among the TXT records of ${host}`);
    case 'broken':
      return invalid(`the SPF record ${record.problem}`);
    case 'record':
      return judged(record, wanted, included);
    default:
      return record satisfies never;
  }
};
