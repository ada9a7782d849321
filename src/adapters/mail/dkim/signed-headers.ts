import { relaxedHeader } from './relaxed-header.ts';

/**
 * Signed once more than they are there, even if they are not: whoever passes a message on cannot add one that is shown,
 * answered to or read by, in place of ours (RFC 6376 §8.15). `Sender` and `List-…` are not among them: lists that
 * otherwise leave a message alone add those, and its signature shall survive that.
 */
const ALWAYS = [
  'From',
  'Reply-To',
  'Subject',
  'Date',
  'To',
  'Cc',
  'Message-ID',
  'MIME-Version',
  'Content-Type',
] as const;

/**
 * Signed, and once more, where the message has them (RFC 6376 §5.4.1). RFC 8058 §4: without both of the first two no
 * program offers the click. Some servers add a `Content-Transfer-Encoding` where a multipart has none.
 */
const WHERE_PRESENT = [
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Feedback-ID',
  'Content-Transfer-Encoding',
  'In-Reply-To',
  'References',
  'List-Id',
  'List-Help',
  'List-Subscribe',
  'List-Owner',
  'List-Post',
  'List-Archive',
] as const;

interface Signed {
  /** As written in a signature. */
  readonly name: string;
  readonly key: string;
  readonly always: boolean;
}

const SIGNED: readonly Signed[] = [
  ...ALWAYS.map((name) => ({ name, key: name.toLowerCase(), always: true })),
  ...WHERE_PRESENT.map((name) => ({ name, key: name.toLowerCase(), always: false })),
];

export interface SignedHeaders {
  /** The tag `h`, in the order they were hashed. */
  readonly names: readonly string[];
  /** What is hashed, with a CRLF after each. */
  readonly relaxed: string;
}

/** A line end that no folding follows. */
const FIELD_END = /\r\n(?![ \t])/;

/** Values by name, first the one that stands last: that is the order verifiers take them in (RFC 6376 §5.4.2). */
const valuesByName = (head: string): ReadonlyMap<string, readonly string[]> => {
  const values = new Map<string, string[]>();
  for (const field of head.split(FIELD_END)) {
    const colon = field.indexOf(':');
    const key = field.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = field.slice(colon + 1);
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.unshift(value);
  }
  return values;
};

/** @param head header fields as they are written, each with its CRLF. */
export const signedHeaders = (head: string): SignedHeaders => {
  const values = valuesByName(head);
  const names: string[] = [];
  let relaxed = '';
  for (const { name, key, always } of SIGNED) {
    const present = values.get(key) ?? [];
    for (const value of present) {
      names.push(name);
      relaxed += relaxedHeader(key, value);
    }
    if (always || present.length > 0) names.push(name);
  }
  return { names, relaxed };
};
