import type { DnsAnswer } from '../../../lib/smtp/smtp.ts';
import type { RecordState } from '../events.ts';

/** RFC 6376 §3.2 tag-name. */
const NAME = /^[a-z]\w*$/i;

/** The largest key needs a tenth of this. Longer records are not meant for this service and take time to parse. */
const CHARACTERS_MAX = 8192;

/**
 * Tags of a DKIM key record or DMARC policy in order, trimmed. Null if the text is not a tag list or repeats a tag,
 * which makes the whole list invalid (RFC 6376 §3.2).
 */
export const parseTagList = (text: string): ReadonlyMap<string, string> | null => {
  if (text.length > CHARACTERS_MAX) return null;
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
export interface Doubled {
  readonly host: string;
  readonly texts: readonly string[];
}

/** All answers about one record. */
export interface Sighting {
  readonly host: string;
  /** Null if the DNS did not answer. For a CNAME record, the answer to a query that follows it. */
  readonly answer: DnsAnswer<string> | null;
  readonly doubled: Doubled | null;
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
  problem: `the DNS does not answer for ${host}, which says nothing of the record: it is asked again`,
});

const misplaced = ({ host, domain }: Sighting, published: string): Verdict => {
  const appended = published.slice(host.length + 1);
  const wanted = host.endsWith(`.${appended}`) ? host.slice(0, -appended.length - 1) : host;
  return missing(
    `the record is at ${published}: the form of your DNS provider appends ${appended} by itself, so enter ${wanted} as its host (domain ${domain.name})`,
  );
};

/** Explains why a host has no such record. @param what `TXT` or `CNAME`. */
export const absence = (sighting: Sighting, what: 'TXT' | 'CNAME'): Verdict => {
  const { host, answer, doubled, domain } = sighting;
  const alias = answer?.aliases.at(-1);
  if (doubled !== null) return misplaced(sighting, doubled.host);
  if (alias !== undefined) {
    return invalid(
      `the host ${host} is a CNAME that leads to ${alias}, where there is no such record: no other record can stand beside a CNAME, so remove it`,
    );
  }
  if (!domain.exists) {
    return missing(`the domain ${domain.name} does not exist in the DNS (NXDOMAIN): register it, or correct its name`);
  }
  const nothing = answer?.exists === true ? `no ${what} record` : 'nothing at all';
  return missing(`there is ${nothing} at ${host}`);
};

export const wildcard = (host: string): Verdict =>
  invalid(
    `the host ${host} is answered by a wildcard record (*), as every other name is: publish the record at ${host} itself, beside it`,
  );
