/** Field names of RFC 5322 §3.6.8 that fit on their line. */
const HEADER_NAME = /^[!-9;-~]{1,76}$/;
/** Headers this service writes: a second one of them would say something else than the first. */
const OWN_HEADERS =
  /^(?:from|to|cc|bcc|subject|date|message-id|dkim-signature|return-path|received|sender|content-.*|mime-version)$/i;

export const isHeaderName = (name: string): boolean => HEADER_NAME.test(name);

/** `Reply-To` is nobody's own: it is written where the sender gave one. */
export const isOwnHeader = (name: string): boolean => OWN_HEADERS.test(name);

/** Written where the message has `unsubscribe`; otherwise a sender may write them (RFC 2369 §3.2, RFC 8058 §3.1). */
export const isListUnsubscribe = (name: string): boolean => /^list-unsubscribe(?:-post)?$/i.test(name);

export const isReplyTo = (name: string): boolean => name.toLowerCase() === 'reply-to';
