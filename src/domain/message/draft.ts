/** The permitted contents of a message: its draft, and which headers and unsubscribe links are allowed. */

import type { Mailbox } from '../../lib/mime/mime.ts';
import type { MessageBody } from '../ports/contents.ts';
import type { Tracking } from '../tracking/tracking.ts';
import type { RecipientKind } from './events.ts';

/** A send request after validation and address parsing. Nothing in it has an id yet. */
export interface MessageDraft
  extends Omit<MessageBody, 'kind' | 'messageId' | 'recipients' | 'analysis' | 'findings' | 'salts'> {
  readonly recipients: readonly (Mailbox & { readonly kind: RecipientKind })[];
  readonly stream: 'transactional' | 'bulk';
  /** ISO 8601. Absent: send immediately. */
  readonly scheduledAt?: string;
  /** Time to live, counted from the time for which sending is requested. */
  readonly ttlSeconds: number;
  /** Template from which subject and bodies were rendered. */
  readonly template?: { readonly templateId: string; readonly version: number };
  /**
   * A test send of a template, or a notice of this service. It is not billed, and not counted in statistics, warm-up
   * quotas or sender reputation.
   */
  readonly trial?: true;
  /** Absent fields default to the domain's settings. */
  readonly tracking?: Partial<Tracking>;
}

/** Headers that this service writes itself, because a second one could contradict the first. */
const OWN_HEADERS =
  /^(?:from|to|cc|bcc|subject|date|message-id|dkim-signature|return-path|received|sender|content-.*|mime-version)$/i;

/** Whether only this service may write the header. Senders may set `Reply-To`. */
export const isOwnHeader = (name: string): boolean => OWN_HEADERS.test(name);

/** Keeps `List-Unsubscribe: <…>,` within one line of 998 characters (RFC 5322 §2.1.1). */
const LINK_CHARACTERS_MAX = 900;
/** Characters of RFC 3986 §2, with an authority after the scheme. Browsers accept more than mail programs do. */
const URL_TEXT = /^https:\/\/(?=[^/?#])(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/i;
/** Text like an encoded word, which lenient mail programs decode anywhere (RFC 2047). */
const LIKE_ENCODED_WORD = /=\?[^?]*\?/;

/**
 * The reason why a text cannot be a `List-Unsubscribe` link (RFC 2369 §3.2, RFC 8058 §3.1), as a phrase to follow the
 * field's name; null if it can.
 */
export const unsubscribeUrlProblem = (text: string): string | null => {
  if (text.length > LINK_CHARACTERS_MAX) return `must have at most ${LINK_CHARACTERS_MAX} characters`;
  if (!URL_TEXT.test(text)) return 'must be an absolute https URL in ASCII, percent-encoded where needed';
  const parsed = URL.parse(text);
  if (parsed === null || parsed.hostname === '') return 'must be an absolute https URL with a host';
  if (text.split(/[/?#]/)[2]?.includes('@') === true) return 'must not contain a user name or password';
  return LIKE_ENCODED_WORD.test(text) ? 'must not contain =?…?, which reads as an encoded word' : null;
};
