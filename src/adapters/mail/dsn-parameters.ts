const NON_ASCII = /[^\0-\x7f]/;
/** RFC 3461 §4: what stands for itself in xtext. */
const NOT_XCHAR = /[^!-*,-<>-~]/g;
/** RFC 6533 §3: what stands for itself in an address that may hold any character. */
const NOT_QCHAR = /[^!-*,-<>-[\]-~]/gu;

/** RFC 3461 §4.4 and §4.2: longer values are refused. */
const ENVID_CHARACTERS_MAX = 100;
const ORCPT_CHARACTERS_MAX = 500;

const hexOf = (code: number, digits: number): string => code.toString(16).toUpperCase().padStart(digits, '0');

const xtext = (text: string): string => text.replace(NOT_XCHAR, (each) => `+${hexOf(each.charCodeAt(0), 2)}`);

/** In ASCII, so that it means the same after a hop without SMTPUTF8. */
const utf8AddressXtext = (text: string): string =>
  text.replace(NOT_QCHAR, (each) => `\\x{${hexOf(each.codePointAt(0) ?? 0, 2)}}`);

/**
 * What a report about this message shall hold and be known by (RFC 3461 §4.3, §4.4).
 * @param id a Message-ID may have its angle brackets; a report names it without them.
 */
export const dsnOfMail = (id: string): string => {
  const envid = xtext(id.replace(/^<|>$/g, ''));
  const isSayable = envid !== '' && envid.length <= ENVID_CHARACTERS_MAX && !NON_ASCII.test(id);
  return ` RET=HDRS${isSayable ? ` ENVID=${envid}` : ''}`;
};

/** That a report is wanted where the message cannot be delivered, and about whom (RFC 3461 §4.1, §4.2; RFC 6533 §3). */
export const dsnOfRecipient = (address: string): string => {
  const original = NON_ASCII.test(address) ? `utf-8;${utf8AddressXtext(address)}` : `rfc822;${xtext(address)}`;
  return ` NOTIFY=FAILURE${original.length <= ORCPT_CHARACTERS_MAX ? ` ORCPT=${original}` : ''}`;
};
