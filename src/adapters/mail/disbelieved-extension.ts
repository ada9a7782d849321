import { needsUtf8, type SmtpEnvelope, type SmtpExtensions } from './smtp-envelope.ts';
import type { SmtpReply } from './smtp-reply.ts';

type Extension = 'dsn' | 'eightBit' | 'size' | 'utf8';

/** RFC 5321 §4.1.1.11 has 555 for a parameter that is not known; others answer as to a malformed command (§4.2.2). */
const NOT_UNDERSTOOD = new Set([500, 501, 502, 504, 555]);
const OUT_OF_ORDER = 503;

/** What a refusal may name, in the order in which they are given up where it names none: what costs least first. */
const NAMED: readonly (readonly [Extension, RegExp])[] = [
  ['dsn', /\b(?:DSN|RET|ENVID|NOTIFY|ORCPT)\b/i],
  ['eightBit', /\b(?:BODY|8BITMIME)\b/i],
  ['size', /\bSIZE\b/i],
  ['utf8', /\bSMTPUTF8\b/i],
];

/** RFC 3463 §3.2 X.1: it was the address that was not understood. */
const isAboutAddress = ({ enhanced }: SmtpReply): boolean => enhanced?.startsWith('5.1.') === true;

/** The server may have refused what was said beside the address. */
export const isAboutParameters = (reply: SmtpReply): boolean =>
  NOT_UNDERSTOOD.has(reply.code) && !isAboutAddress(reply);

/** @returns the extension that was offered and, it seems, is not there; null: the refusal is about something else. */
export const disbelievedAtMail = (
  reply: SmtpReply,
  envelope: SmtpEnvelope,
  extensions: SmtpExtensions,
): Extension | null => {
  if (!isAboutParameters(reply)) return null;
  const isWide = extensions.utf8 && needsUtf8(envelope);
  const isSaid = { ...extensions, utf8: isWide, eightBit: isWide && extensions.eightBit };
  const said = NAMED.filter(([extension]) => isSaid[extension]);
  return (said.find(([, words]) => words.test(reply.text)) ?? said[0])?.[0] ?? null;
};

/** Said to the first chunk: there is no BDAT after all, whatever was offered. */
export const isAboutChunks = ({ code }: SmtpReply): boolean => NOT_UNDERSTOOD.has(code) || code === OUT_OF_ORDER;
