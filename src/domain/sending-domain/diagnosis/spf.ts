import { told } from '../dns-text.ts';
import { absence } from './absence.ts';
import { invalid, missing, type Sighting, unanswered, VALID, type Verdict } from './sighting.ts';
import { type IncludedAnswers, type SpfReach, spfReach } from './spf-reach.ts';
import { LOOKUPS_MAX, type SpfRecord, spfRecordIn } from './spf-record.ts';

type Usable = Extract<SpfRecord, { kind: 'record' }>;

const NONE: IncludedAnswers = new Map();

const ofOperator = (problem: string): Verdict => ({
  state: 'include_broken',
  problem: `${problem}: the record is as it should be, and whoever runs this service has to mend that name’s`,
});

/** Of the name of this service that the record includes. */
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
 * The SPF record of a domain, with what it includes.
 * @param wanted name that it has to include or redirect to, so that this service's mail passes; null: any hosts will do.
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
