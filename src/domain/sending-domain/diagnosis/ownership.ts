import { hasQuotes, told, withoutQuotes } from '../dns-text.ts';
import { absence } from './absence.ts';
import { invalid, type Sighting, unanswered, VALID, type Verdict } from './sighting.ts';

export const wildcard = (host: string): Verdict =>
  invalid(
    `the host ${host} is answered by a wildcard record (*), as every other name is: publish the record at ${host} itself, beside it`,
  );

/** Spaces around it and the case of its letters are no part of the proof. */
const meaning = (text: string): string => text.trim().toLowerCase();

/** Others may prove other things at the same host; one of the records has to be ours. */
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
