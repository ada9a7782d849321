import type { InboundReport } from '../../domain/bounce/report.ts';
import type { MailParts } from './mail-parts.ts';

const RETURNED: ReadonlySet<string> = new Set([
  ...['message/rfc822', 'message/global', 'text/rfc822-headers', 'text/rfc822', 'message/rfc822-headers'],
  'message/global-headers',
]);

/** RFC 3462 §2, RFC 6533 §4, and what is written in their place. */
export const isReturnedMessage = (type: string): boolean => RETURNED.has(type);

/** What proves whose message it was stands in its headers. */
const QUOTED_CHARACTERS_MAX = 64_000;
/** More than a message has is an attempt to have the log read many times. */
const FOUND_MAX = 5;
const LOCAL_PART = /(?<![0-9a-v])[bu][0-9a-v]{48}(?=@)/gi;
const LINK_TOKEN = /(?<=\/unsubscribe\/)[\w-]{64}(?![\w-])/g;

const distinct = (found: readonly string[] | null): readonly string[] => [...new Set(found)].slice(0, FOUND_MAX);

/** Addresses and links in the message that a mail returns which look like ours. */
export const quotedIn = ({ parts, text }: MailParts): InboundReport['quoted'] => {
  const reports = parts.filter(({ type }) => isReturnedMessage(type) || type === 'message/feedback-report');
  const quoted = [...reports.map((part) => part.text.slice(0, QUOTED_CHARACTERS_MAX)), text].join('\n');
  return { localParts: distinct(quoted.match(LOCAL_PART)), linkTokens: distinct(quoted.match(LINK_TOKEN)) };
};
