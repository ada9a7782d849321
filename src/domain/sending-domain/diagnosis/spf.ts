import { hasQuotes, told, withoutQuotes } from '../dns-text.ts';
import { absence } from './absence.ts';
import { invalid, missing, type Sighting, unanswered, VALID, type Verdict } from './sighting.ts';

/** RFC 7208 §4.5: the version, and nothing or a space behind it. */
const SPF = /^v=spf1(?: |$)/i;
/** RFC 7208 §12, without what macros may expand to. */
const TERM =
  /^(?:[+?~-]?(?:all|(?:include|exists):\S+|(?:a|mx)(?::[^\s/]+)?(?:\/\d{1,2})?(?:\/\/\d{1,3})?|ptr(?::\S+)?|ip4:[\d.]+(?:\/\d{1,2})?|ip6:[\da-f:.]+(?:\/\d{1,3})?)|[a-z][\w.-]*=\S*)$/i;
/** Terms that cost receivers a look-up, and how many they make (RFC 7208 §4.6.4). */
const LOOKUP = /^[+?~-]?(?:include:|exists:|ptr|a(?:$|[:/])|mx(?:$|[:/]))|^redirect=/i;
const LOOKUPS_MAX = 10;

/** Longer is no record that anybody reads to its end, and would cost time to take apart. */
const CHARACTERS_MAX = 4096;

const problemIn = (text: string): string | null => {
  if (text.length > CHARACTERS_MAX) return 'the SPF record is too long';
  const terms = text.trim().split(/ +/).slice(1);
  const wrong = terms.find((term) => !TERM.test(term));
  if (wrong !== undefined) return `the SPF record has ${told(wrong)} in it, which is no term of SPF (RFC 7208 §5)`;
  const lookups = terms.filter((term) => LOOKUP.test(term)).length;
  return lookups > LOOKUPS_MAX
    ? `the SPF record needs ${lookups} look-ups, and receivers make ${LOOKUPS_MAX} (RFC 7208 §4.6.4)`
    : null;
};

/** Several records of one kind are as bad as none: whoever checks takes neither (RFC 7208 §4.5). */
export const diagnoseSpf = (sighting: Sighting): Verdict => {
  const { host, answer } = sighting;
  if (answer === null) return unanswered(host);
  if (answer.records.length === 0) return absence(sighting, 'TXT');
  const [first, ...others] = answer.records.filter((text) => SPF.test(text));
  if (first === undefined) {
    return answer.records.some((text) => hasQuotes(text) && SPF.test(withoutQuotes(text)))
      ? invalid('the SPF record has quotes in it: publish it without them')
      : missing(`there is no SPF record (v=spf1 …) among the TXT records of ${host}`);
  }
  if (others.length > 0) {
    return invalid(
      `there are ${others.length + 1} SPF records, and receivers take none of several (RFC 7208 §4.5): make one of them`,
    );
  }
  const problem = problemIn(first);
  return problem === null ? VALID : invalid(problem);
};
