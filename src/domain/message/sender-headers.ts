import { asciiDomain } from '../../lib/mime/mime.ts';

/** Checks headers that could impersonate another sender, or link to something other than a page or an address. */

type Field = readonly [name: string, value: string];

/** RFC 5322 §3.6.6: the party that resent the message. Mail programs show it like `From`. */
const RESENT = /^resent-(?:from|sender)$/i;
const QUOTED = /"(?:[^"\\]|\\.)*"/g;
/** Text after an @ up to a delimiter of RFC 5322 §3.2.3. */
const DOMAIN_AFTER_AT = /@([^\s@<>()[\]\\,;:"]*)/g;

/**
 * Every @ outside quotes must precede the domain. Comments, routes and IP addresses are rejected with everything else.
 */
const isOn = (domain: string, value: string): boolean => {
  const domains = [...value.replace(QUOTED, '""').matchAll(DOMAIN_AFTER_AT)].map(([, written = '']) => written);
  return domains.length > 0 && domains.every((written) => asciiDomain(written.toLowerCase()) === domain);
};

/** Sentences about `Resent-From` and `Resent-Sender` headers with an address that is not on the sending domain. */
export const resentProblems = (fields: readonly Field[], domain: string): readonly string[] =>
  fields
    .filter(([name, value]) => RESENT.test(name) && !isOn(domain, value))
    .map(([name]) => `headers.${name} must be an address on ${domain}`);

/** RFC 2369: headers with links. `List-Id` has none. */
const LIST_LINKS = /^list-(?:unsubscribe|subscribe|help|owner|post|archive)$/i;
const UNSUBSCRIBE = /^list-unsubscribe$/i;
const ONE_CLICK = /^list-unsubscribe-post$/i;
const BRACKETED = /<([^<>]*)>/g;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
/** Mail programs open these, and they start no other program on the reader's machine. */
const SCHEMES: ReadonlySet<string> = new Set(['https', 'http', 'mailto']);

/** RFC 2369 §2: white space inside the brackets is ignored. Without brackets, programs use the text between commas. */
const linksIn = (value: string): readonly string[] => {
  const bracketed = [...value.matchAll(BRACKETED)].map(([, link = '']) => link);
  const outside = value.replace(BRACKETED, '').split(',');
  return [...bracketed, ...outside].map((link) => link.replaceAll(/\s/g, '').replace(/^[<(]+/, ''));
};

const schemesIn = (value: string): readonly string[] =>
  linksIn(value).flatMap((link) => SCHEME.exec(link)?.[1]?.toLowerCase() ?? []);

/**
 * The problem with the links of a list header, as a phrase to follow its name; null if there is none.
 * @param isOneClick whether the message has `List-Unsubscribe-Post`.
 */
export const listLinkProblem = (name: string, value: string, isOneClick: boolean): string | null => {
  if (!LIST_LINKS.test(name)) return null;
  const schemes = schemesIn(value);
  const other = schemes.find((scheme) => !SCHEMES.has(scheme));
  if (other !== undefined) return `must have https:, http: and mailto: links only, not ${other}:`;
  return isOneClick && UNSUBSCRIBE.test(name) && schemes.includes('http')
    ? 'must not have an http: link beside List-Unsubscribe-Post: one-click needs https: (RFC 8058 §3.1)'
    : null;
};

/** Whether the header asks for one-click unsubscription (RFC 8058). */
export const isOneClickHeader = (name: string): boolean => ONE_CLICK.test(name);
