import { hasQuotes, told, withoutQuotes } from '../records-to-publish.ts';

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
const CHARACTERS_MAX = 4096;

/** Another name whose record is evaluated too. */
export interface SpfInclude {
  /** Lower case, without a trailing dot. */
  readonly host: string;
  /** Whether a pass there is a pass here. */
  readonly passes: boolean;
}

export type SpfRecord =
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
  if (text.length > CHARACTERS_MAX) return 'is too long';
  const wrong = terms.find((term) => !TERM.test(term));
  if (wrong !== undefined) return `has ${told(wrong)} in it, which is no term of SPF (RFC 7208 §5)`;
  const lookups = terms.filter((term) => LOOKUP.test(term)).length;
  return lookups > LOOKUPS_MAX
    ? `needs ${lookups} look-ups, and receivers make ${LOOKUPS_MAX} (RFC 7208 §4.6.4)`
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
  const terms = text.slice(0, CHARACTERS_MAX).trim().split(/ +/).slice(1);
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
export const spfRecordIn = (texts: readonly string[]): SpfRecord => {
  const [first, ...others] = texts.filter((text) => SPF.test(text));
  if (first === undefined) {
    return { kind: 'none', isQuoted: texts.some((text) => hasQuotes(text) && SPF.test(withoutQuotes(text))) };
  }
  return others.length === 0
    ? taken(first)
    : {
        kind: 'broken',
        problem: `is one of ${others.length + 1}, and receivers take none of several (RFC 7208 §4.5)`,
      };
};

/** Names that can be queried. Those with macros (RFC 7208 §7) depend on the mail. */
const HOST = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+$/;
export const canBeAsked = (host: string): boolean => HOST.test(host);
