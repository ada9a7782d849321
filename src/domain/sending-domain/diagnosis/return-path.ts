import { absence } from './absence.ts';
import { invalid, type Sighting, unanswered, VALID, type Verdict } from './sighting.ts';

const meaning = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** The CNAME of the return path; where it leads further is its target's own affair. */
export const diagnoseReturnPath = (sighting: Sighting, expected: string): Verdict => {
  const { host, answer } = sighting;
  if (answer === null) return unanswered(host);
  const [target] = answer.aliases;
  if (target === undefined) return absence(sighting, 'CNAME');
  return meaning(target) === meaning(expected)
    ? VALID
    : invalid(`the host ${host} is a CNAME to ${meaning(target)}, and should be one to ${expected}`);
};
