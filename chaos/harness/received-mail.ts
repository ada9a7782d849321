import type { SinkMail } from './smtp-sink.ts';

const unfolded = (raw: string): string => raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ');

const headerOf = (mail: SinkMail, name: string): string | null =>
  new RegExp(`^${name}: *(.*)$`, 'im').exec(unfolded(mail.raw))?.[1]?.trim() ?? null;

/** RFC 5322 Message-ID with its angle brackets. */
export const messageIdOf = (mail: SinkMail): string => headerOf(mail, 'Message-ID') ?? '(none)';

/** Selectors of the keys that it is signed by (RFC 6376 §3.5), one for each signature. */
export const signaturesOf = (mail: SinkMail): readonly string[] =>
  [...unfolded(mail.raw).matchAll(/^DKIM-Signature:.*?\bs= *([^;\s]+)/gim)].map(([, selector = '']) => selector);

/** What the load marked it with. */
export const markerOf = (mail: SinkMail): string => headerOf(mail, 'X-Load') ?? '(none)';

/** The path of the unsubscribe link in the mail. */
export const unsubscribePathOf = (mail: SinkMail): string =>
  new URL(/<(https?:[^>]+)>/.exec(headerOf(mail, 'List-Unsubscribe') ?? '')?.[1] ?? 'none:').pathname;

/** Of the image that tells of an opening; soft line breaks may stand in it (RFC 2045 §6.7). */
export const pixelPathOf = ({ raw }: SinkMail): string =>
  /\/o\/[\w-]{96}/.exec(raw.replaceAll(/=\r?\n/g, ''))?.[0] ?? 'none';
