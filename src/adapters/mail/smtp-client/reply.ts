/** What a server said (RFC 5321 §4.2), or that it said nothing: then the code is 0. */
export interface SmtpReply {
  readonly code: number;
  /** RFC 3463. */
  readonly enhanced: string | null;
  readonly text: string;
}

/** Replies are kept for people to read; a server may send a megabyte. */
const TEXT_CHARACTERS_MAX = 1000;

const CODE = /^([2-5]\d\d)(?:[ -]|$)/;
const ENHANCED = /^([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/;

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

/** Commands out of order or not understood, or credentials asked for: about us, at whatever stage it is said. */
const ABOUT_US = new Set([500, 501, 502, 503, 504, 530, 534, 535, 538, 555]);

/**
 * RFC 5321 §4.5.3.1.10: "too many recipients" is 452, may come as 552, and is to be treated as 452. A bare 452 may mean
 * a full disk too; where others were accepted, asking once more tells.
 */
export const isTooManyRecipients = ({ code, enhanced, text }: SmtpReply): boolean =>
  (code === 452 || code === 552) &&
  (enhanced?.endsWith('.5.3') === true ||
    /too many (?:recipients|rcpt)/i.test(text) ||
    (code === 452 && enhanced === null));

/** RFC 3463 §3.4 X.3.4: too large, the one thing at MAIL (with SIZE, RFC 1870 §6.1) that is about the content. */
const isTooLarge = ({ code, enhanced }: SmtpReply): boolean =>
  enhanced === '5.3.4' || (code === 552 && enhanced === null);

/** RFC 3463 §3.4–3.6: the other side's system, its network, the protocol. */
const isAboutSystem = ({ enhanced }: SmtpReply): boolean => /^5\.[345]\./.test(enhanced ?? '');

const isFinalForContent = (reply: SmtpReply): boolean => isTooLarge(reply) || !isAboutSystem(reply);

/**
 * Whether a refusal is for good. Only a 5xx about the recipient or the content is; one about our session, our
 * reputation, or the other side's own state may pass.
 */
export const refusalOutcome = (stage: SmtpStage, reply: SmtpReply): 'bounced' | 'deferred' => {
  const isPermanent = reply.code >= 500 && !ABOUT_US.has(reply.code);
  if (!isPermanent) return 'deferred';
  const isFinal = {
    session: () => false,
    mail: () => isTooLarge(reply),
    recipient: () => !isTooManyRecipients(reply),
    content: () => isFinalForContent(reply),
  }[stage];
  return isFinal() ? 'bounced' : 'deferred';
};
