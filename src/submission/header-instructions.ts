import { sha256Hex } from '../domain/kernel/digest.ts';
import type { ShownRecipients } from '../domain/ports/contents.ts';
import type { Problem } from '../http/problems.ts';
import {
  canonicalAddress,
  type Mailbox,
  mailboxText,
  type ParsedMail,
  parseMailbox,
  type WrittenAddress,
} from '../lib/mime/mime.ts';

/** Send options that a client sets by `X-Outbox-*` headers. They are removed before delivery. */
export interface Instructions {
  /** Fields of a send body. Its schema validates their values. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Same meaning as HTTP's `Idempotency-Key`; null: none. */
  readonly idempotencyKey: string | null;
  readonly problems: readonly Problem[];
}

const PREFIX = 'x-outbox-';
const IDEMPOTENCY_KEY = 'idempotency-key';
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;
const DIGITS = /^\d{1,10}$/;

/** Headers allowed once, and the body field that each sets. */
const SINGLE: Readonly<Record<string, string>> = {
  'x-outbox-stream': 'stream',
  'x-outbox-scheduled-at': 'scheduled_at',
  'x-outbox-ttl-seconds': 'ttl_seconds',
  'x-outbox-unsubscribe': 'unsubscribe',
  'x-outbox-topic': 'topic',
  'x-outbox-analysis': 'analysis',
};
const TAG = 'x-outbox-tag';
const METADATA = 'x-outbox-metadata';
const TRACKING = 'x-outbox-tracking';
const TRACKED = ['opens', 'clicks', 'off'];
const IDEMPOTENCY = 'x-outbox-idempotency';
const KNOWN = new Set([...Object.keys(SINGLE), TAG, METADATA, TRACKING, IDEMPOTENCY]);

export const isInstruction = (name: string): boolean =>
  name.toLowerCase().startsWith(PREFIX) || name.toLowerCase() === IDEMPOTENCY_KEY;

const valuesOf = ({ headers }: ParsedMail, wanted: string): readonly string[] =>
  headers.filter(({ name }) => name.toLowerCase() === wanted).map(({ value }) => value);

/** `name=value`, the name up to the first `=`. */
const pairsOf = (mail: ParsedMail, header: string, problems: Problem[]): readonly (readonly [string, string])[] =>
  valuesOf(mail, header).flatMap((value) => {
    const at = value.indexOf('=');
    if (at > 0) return [[value.slice(0, at).trim(), value.slice(at + 1).trim()] as const];
    problems.push(['headers', `${header} must be name=value`]);
    return [];
  });

const once = (mail: ParsedMail, header: string, problems: Problem[]): string | undefined => {
  const values = valuesOf(mail, header);
  if (values.length > 1) problems.push(['headers', `${header} must be given only once`]);
  return values[0];
};

/** Includes the envelope: copies of one message for several recipients share a Message-ID, and each is a message of its own. */
const keyOfMessageId = (mail: ParsedMail, envelope: readonly string[], problems: Problem[]): string | null => {
  const id = once(mail, 'message-id', problems) ?? '';
  if (id === '') {
    problems.push(['headers', 'Message-ID is required with X-Outbox-Idempotency: message-id']);
    return null;
  }
  return `message-id:${sha256Hex([id, ...envelope.toSorted()].join('\0'))}`;
};

const idempotencyKeyOf = (mail: ParsedMail, envelope: readonly string[], problems: Problem[]): string | null => {
  const key = once(mail, IDEMPOTENCY_KEY, problems);
  const way = once(mail, IDEMPOTENCY, problems);
  if (key !== undefined && !PRINTABLE.test(key)) {
    problems.push(['headers', 'Idempotency-Key must be 1 to 255 printable ASCII characters']);
  }
  if (way === undefined) return key ?? null;
  if (way !== 'message-id') problems.push(['headers', 'X-Outbox-Idempotency must be message-id']);
  if (key !== undefined)
    problems.push(['headers', 'X-Outbox-Idempotency is not allowed together with Idempotency-Key']);
  return keyOfMessageId(mail, envelope, problems);
};

const tagsOf = (mail: ParsedMail, problems: Problem[]): Readonly<Record<string, unknown>> => {
  const tags = pairsOf(mail, TAG, problems).map(([name, value]) => ({ name, value }));
  return tags.length === 0 ? {} : { tags };
};

const metadataOf = (mail: ParsedMail, problems: Problem[]): Readonly<Record<string, unknown>> => {
  const pairs = pairsOf(mail, METADATA, problems);
  const names = new Set(pairs.map(([name]) => name));
  if (names.size < pairs.length) problems.push(['metadata', `${METADATA} contains the same name twice`]);
  if (names.has('__proto__')) problems.push(['metadata', 'metadata.__proto__ is not allowed']);
  return pairs.length === 0 ? {} : { metadata: Object.fromEntries(pairs) };
};

/** `opens`, `clicks`, both with a comma, or `off`. */
const trackingOf = (mail: ParsedMail, problems: Problem[]): Readonly<Record<string, unknown>> => {
  const value = once(mail, TRACKING, problems);
  if (value === undefined) return {};
  const words = value.split(',').map((word) => word.trim().toLowerCase());
  const isOff = words.includes('off');
  if (words.some((word) => !TRACKED.includes(word)) || (isOff && words.length > 1)) {
    problems.push(['headers', `${TRACKING} must be opens, clicks, both separated by a comma, or off`]);
  }
  return { tracking: { opens: words.includes('opens'), clicks: words.includes('clicks') } };
};

/** @param envelope addresses in their canonical form. */
export const instructionsOf = (mail: ParsedMail, envelope: readonly string[]): Instructions => {
  const problems: Problem[] = [];
  // A misspelt instruction would be ignored silently.
  for (const { name } of mail.headers) {
    if (name.toLowerCase().startsWith(PREFIX) && !KNOWN.has(name.toLowerCase())) {
      problems.push(['headers', `${name} is not a known header of this service`]);
    }
  }
  const fields = Object.entries(SINGLE).flatMap(([header, field]) => {
    const value = once(mail, header, problems);
    if (value === undefined) return [];
    return [[field, field === 'ttl_seconds' && DIGITS.test(value) ? Number(value) : value] as const];
  });
  return {
    fields: {
      ...Object.fromEntries(fields),
      ...tagsOf(mail, problems),
      ...metadataOf(mail, problems),
      ...trackingOf(mail, problems),
    },
    idempotencyKey: idempotencyKeyOf(mail, envelope, problems),
    problems,
  };
};

/** Recipients of a message as fields of a send body, and those that its headers show. */
export interface RecipientFields {
  readonly to?: readonly string[];
  readonly cc?: readonly string[];
  readonly bcc?: readonly string[];
  /** `To` and `Cc` as written, if they name addresses outside the envelope. */
  readonly shown?: ShownRecipients;
}

/** Each delivered copy carries them all. Discussions among more people belong on a mailing list. */
const SHOWN_MAX = 100;

/** An address that is shown as written although this service cannot send to it: `root@server`. */
const PLAIN_ADDRESS = /^[\w!#$%&'*+/=?^`{|}~.-]{1,64}@[\w.-]{1,253}$/;
/** Text that fits on a header line and cannot end it. */
const SHOWN_TEXT = /^\P{Cc}{1,256}$/u;

/** Parses an address that is only shown; the envelope says where mail goes. @returns a string: why it cannot be shown. */
const readShown = (one: WrittenAddress): Mailbox | string => {
  const parsed = parseMailbox(mailboxText(one));
  if (typeof parsed !== 'string') return parsed;
  const text = one.address === '' ? one.name : mailboxText(one);
  if (!SHOWN_TEXT.test(text)) return parsed;
  return PLAIN_ADDRESS.test(one.address) ? one : { address: '', name: text };
};

const readAll = (field: 'To' | 'Cc', written: readonly WrittenAddress[], problems: Problem[]): readonly Mailbox[] =>
  written.flatMap((one, index) => {
    const shown = readShown(one);
    if (typeof shown !== 'string') return [shown];
    problems.push([field.toLowerCase(), `${field}[${index}] is not an email address: ${shown}`]);
    return [];
  });

/**
 * Recipients named in the headers. They may differ from the envelope, which decides who gets the message: an envelope
 * recipient named in `To` or `Cc` is of that kind, any other is a blind copy. Programs that send each recipient a separate
 * copy leave the same headers in all of them: these are kept as written.
 * @param envelope parsed addresses without duplicates.
 */
export const addressed = (
  { to, cc }: Pick<ParsedMail, 'to' | 'cc'>,
  envelope: readonly string[],
): RecipientFields & { readonly problems: readonly Problem[] } => {
  if (to.length + cc.length > SHOWN_MAX) {
    return { problems: [['to', `To and Cc must have at most ${SHOWN_MAX} addresses together`]] };
  }
  const problems: Problem[] = [];
  const shown = { to: readAll('To', to, problems), cc: readAll('Cc', cc, problems) };
  const left = new Map(envelope.map((address) => [canonicalAddress(address), address]));
  let others = 0;
  const take = (mailboxes: readonly Mailbox[]): readonly string[] =>
    mailboxes.flatMap((one) => {
      const address = left.get(canonicalAddress(one.address));
      if (address === undefined) others += 1;
      left.delete(canonicalAddress(one.address));
      return address === undefined ? [] : [mailboxText({ ...one, address })];
    });
  const kinds = { to: take(shown.to), cc: take(shown.cc), bcc: [...left.values()] };
  return {
    ...Object.fromEntries(Object.entries(kinds).filter(([, texts]) => texts.length > 0)),
    ...(others === 0 ? {} : { shown }),
    problems,
  };
};
