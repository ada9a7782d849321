/** A server's reply (RFC 5321 §4.2). The code is 0 if there was no reply. */
export interface SmtpReply {
  readonly code: number;
  /** RFC 3463. */
  readonly enhanced: string | null;
  readonly text: string;
}

/** Replies are kept for people to read; a server may send a megabyte. */
const TEXT_CHARACTERS_MAX = 1000;

const CODE = /^([2-5]\d\d)(?:[ -]|$)/;
/** IronPort writes `#` before it. */
const ENHANCED = /^#?([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/;

const clean = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, TEXT_CHARACTERS_MAX);

/** @param response as received: one or more lines, each with the code. */
export const parseReply = (response: string): SmtpReply => {
  const lines = response.slice(0, TEXT_CHARACTERS_MAX * 4).split(/\r?\n/);
  const code = Number(CODE.exec(lines[0] ?? '')?.[1] ?? 0);
  const texts = lines.map((line) => line.replace(/^\d{3}[ -]?/, ''));
  const enhanced = ENHANCED.exec(texts[0] ?? '')?.[1] ?? null;
  return { code, enhanced, text: clean(texts.map((text) => text.replace(ENHANCED, '')).join(' ')) };
};

/** @param sentence why there was no reply. */
export const noReply = (sentence: string): SmtpReply => ({ code: 0, enhanced: null, text: clean(sentence) });

export type SmtpStage = 'session' | 'mail' | 'recipient' | 'content';

/**
 * RFC 5321 §4.5.3.1.10: "too many recipients" is 452, may come as 552, and must be treated as 452. A bare 452 may also
 * mean a full disk; if other recipients were accepted, a second attempt shows which.
 */
export const isTooManyRecipients = ({ code, enhanced, text }: SmtpReply): boolean =>
  (code === 452 || code === 552) &&
  (enhanced?.endsWith('.5.3') === true ||
    /too many (?:recipients|rcpt)/i.test(text) ||
    (code === 452 && enhanced === null));
