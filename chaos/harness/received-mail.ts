import type { SinkMail } from './smtp-sink.ts';

const unfolded = (raw: string): string => raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ');

const headerOf = (mail: SinkMail, name: string): string | null =>
  new RegExp(`^${name}: *(.*)$`, 'im').exec(unfolded(mail.raw))?.[1]?.trim() ?? null;

/** RFC 5322 Message-ID with angle brackets. */
export const messageIdOf = (mail: SinkMail): string => headerOf(mail, 'Message-ID') ?? '(none)';

/** Selectors of the mail's DKIM signatures (RFC 6376 §3.5), one per signature. */
export const signaturesOf = (mail: SinkMail): readonly string[] =>
  [...unfolded(mail.raw).matchAll(/^DKIM-Signature:.*?\bs= *([^;\s]+)/gim)].map(([, selector = '']) => selector);

/** The marker set by the load. */
export const markerOf = (mail: SinkMail): string => headerOf(mail, 'X-Load') ?? '(none)';

/** Path of the unsubscribe link. */
export const unsubscribePathOf = (mail: SinkMail): string =>
  new URL(/<(https?:[^>]+)>/.exec(headerOf(mail, 'List-Unsubscribe') ?? '')?.[1] ?? 'none:').pathname;

/** Path of the open-tracking image; soft line breaks are removed (RFC 2045 §6.7). */
export const pixelPathOf = ({ raw }: SinkMail): string =>
  /\/o\/[\w-]{96}/.exec(raw.replaceAll(/=\r?\n/g, ''))?.[0] ?? 'none';
