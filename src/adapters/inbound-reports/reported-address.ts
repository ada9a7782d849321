import { canonicalAddress, parseMailbox } from '../../domain/email-address.ts';

/** RFC 3464 §2.1.2: `rfc822; a@b`; RFC 6533 §3: `utf-8; a@b`. */
const TYPE = /^[a-z0-9-]{1,20}\s*;\s*/i;
/** RFC 3461 §4, `+2B`; RFC 6533 §3, `\x{e4}`. */
const XTEXT = /\+([0-9A-F]{2})/g;
const UTF8_XTEXT = /\\x\{([0-9A-F]{2,6})\}/gi;
const TEXT_CHARACTERS_MAX = 1000;

const character = (_: string, hex: string): string => {
  const point = Number.parseInt(hex, 16);
  return point <= 0x10_ff_ff ? String.fromCodePoint(point) : '';
};

const canonical = (text: string): readonly string[] => {
  const mailbox = parseMailbox(text);
  return typeof mailbox === 'string' ? [] : [canonicalAddress(mailbox.address)];
};

/** An address of a report, in each way that it can be meant; none: it is no address of ours. */
export const reportedAddress = (text: string): readonly string[] => {
  const bare = text.slice(0, TEXT_CHARACTERS_MAX).trim().replace(TYPE, '').replace(/^<|>$/g, '').trim();
  const decoded = bare.replace(UTF8_XTEXT, character);
  return [...new Set([...canonical(decoded), ...canonical(decoded.replace(XTEXT, character))])];
};
