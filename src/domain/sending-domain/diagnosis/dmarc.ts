import { hasQuotes, told, withoutQuotes } from '../dns-text.ts';
import { absence } from './absence.ts';
import { invalid, missing, type Sighting, unanswered, VALID, type Verdict } from './sighting.ts';
import { parseTagList } from './tag-list.ts';

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

/** As receivers read it: of several they take none (RFC 7489 §6.6.3). */
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
