import { asSentence, shownValues } from '../dns-text.ts';
import type { RecordSeen } from '../events.ts';
import type { RecordToPublish } from '../records-to-publish.ts';
import { diagnoseDkim } from './dkim.ts';
import { diagnoseDmarc } from './dmarc.ts';
import { diagnoseOwnership } from './ownership.ts';
import { diagnoseReturnPath } from './return-path.ts';
import type { Sighting, Verdict } from './sighting.ts';
import { diagnoseSpf } from './spf.ts';

const verdictOn = ({ kind, value, key, includes = null }: RecordToPublish, sighting: Sighting): Verdict => {
  switch (kind) {
    case 'ownership':
      return diagnoseOwnership(sighting, value);
    case 'dkim':
      if (key === undefined) throw new Error(`the DKIM record of ${sighting.host} names no key`);
      return diagnoseDkim(sighting, key);
    case 'return_path':
      return diagnoseReturnPath(sighting, value);
    case 'spf':
      return diagnoseSpf(sighting, includes);
    case 'dmarc':
      return diagnoseDmarc(sighting);
    default:
      return kind satisfies never;
  }
};

/** What one record was found to be, in words for whoever published it. */
export const diagnose = (record: RecordToPublish, sighting: Sighting): RecordSeen => {
  const { state, problem } = verdictOn(record, sighting);
  const { answer, doubled } = sighting;
  const found = record.type === 'CNAME' ? answer?.aliases : (doubled?.texts ?? answer?.records);
  return {
    ...{ kind: record.kind, host: record.host, state },
    problem: problem === null ? null : asSentence(problem),
    seen: [...shownValues(found ?? [])],
  };
};
