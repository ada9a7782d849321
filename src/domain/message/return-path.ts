import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../kernel/digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../kernel/ids.ts';

/**
 * `bounce`: a report on a message. `unsubscribe`: a mailto unsubscription. `envelope`: an envelope id (RFC 3461 §4.4),
 * which only servers see, so that it proves that a reporter has handled the message.
 */
export type ReturnPurpose = 'bounce' | 'unsubscribe' | 'envelope';

/** Claim made by an address. It is unproved until the MAC is checked with the organization's secret. */
export interface ReturnToken {
  readonly purpose: ReturnPurpose;
  readonly messageId: string;
  /** Index among the message's recipients; null for all of them. */
  readonly recipientIndex: number | null;
  /** True if the recipient shared one copy with the others of its domain. */
  readonly sharesDomain?: boolean;
  readonly mac: Buffer;
}

/** Length of the HMAC: 104 bits cannot be guessed by mail, and the total is a whole number of characters. */
const MAC_BYTES = 13;
const TOKEN_BYTES = ID_BYTES + 1 + MAC_BYTES;
/** Five bits each. With the leading letter, they leave 15 octets of a local part (RFC 5321 §4.5.3.1.1). */
const CHARACTERS = (TOKEN_BYTES * 8) / 5;
const ALL_RECIPIENTS = 255;
/** Flag stored with the index. A message has up to 50 recipients; the flag leaves room for 127. */
const SHARES_DOMAIN = 128;
const LETTERS: Readonly<Record<ReturnPurpose, string>> = { bounce: 'b', unsubscribe: 'u', envelope: 'e' };
const PURPOSES = new Map(Object.entries(LETTERS).map(([purpose, letter]) => [letter, purpose as ReturnPurpose]));
/** Alphabet of RFC 4648 §7. Case-insensitive, because relays may change the case. */
const SHAPE = /^[bue][0-9a-v]{48}$/;

type Named = Pick<ReturnToken, 'purpose' | 'messageId' | 'recipientIndex' | 'sharesDomain'>;

const indexByteOf = ({ recipientIndex, sharesDomain }: Named): number => {
  if (recipientIndex === null) return ALL_RECIPIENTS;
  return sharesDomain === true ? recipientIndex + SHARES_DOMAIN : recipientIndex;
};

const subjectOf = (named: Named): Buffer => Buffer.concat([bytesOfId(named.messageId), Buffer.of(indexByteOf(named))]);

const macOf = (secret: Uint8Array, named: Named): Buffer =>
  keyedBytes(secret, `return path: ${named.purpose}`, subjectOf(named).toString('hex')).subarray(0, MAC_BYTES);

const base32 = (bytes: Buffer): string =>
  BigInt(`0x${bytes.toString('hex')}`)
    .toString(32)
    .padStart(CHARACTERS, '0');

const bytesOf = (text: string): Buffer => {
  const number = [...text].reduce((sum, digit) => sum * 32n + BigInt(Number.parseInt(digit, 32)), 0n);
  return Buffer.from(number.toString(16).padStart(TOKEN_BYTES * 2, '0'), 'hex');
};

/** Local part of the address to which a message is returned. Verifying it needs no table. */
export const returnPath = (secret: Uint8Array, named: Named): string => {
  const { recipientIndex } = named;
  const fits = recipientIndex === null || recipientIndex < SHARES_DOMAIN - 1;
  const known = fits ? named : { ...named, recipientIndex: null };
  return LETTERS[named.purpose] + base32(Buffer.concat([subjectOf(known), macOf(secret, known)]));
};

/** Parses such a local part; null if the text cannot be one. */
export const readReturnPath = (localPart: string): ReturnToken | null => {
  const text = localPart.toLowerCase();
  if (!SHAPE.test(text)) return null;
  const bytes = bytesOf(text.slice(1));
  const place = bytes.readUInt8(ID_BYTES);
  return {
    purpose: PURPOSES.get(text.charAt(0)) ?? 'bounce',
    messageId: formatId('msg', bytes.subarray(0, ID_BYTES)),
    recipientIndex: place === ALL_RECIPIENTS ? null : place % SHARES_DOMAIN,
    ...(place >= SHARES_DOMAIN && place < ALL_RECIPIENTS ? { sharesDomain: true } : {}),
    mac: bytes.subarray(ID_BYTES + 1),
  };
};

/** Indexes of the recipients to which a token refers. */
export const indexesOf = (
  { recipientIndex, sharesDomain }: Pick<ReturnToken, 'recipientIndex' | 'sharesDomain'>,
  recipients: readonly { readonly domain: string }[],
): readonly number[] => {
  const domain = recipients[recipientIndex ?? -1]?.domain;
  return [...recipients.keys()].filter(
    (place) =>
      recipientIndex === null ||
      (sharesDomain === true ? recipients[place]?.domain === domain : place === recipientIndex),
  );
};

/** Whether the token was made with this secret. Takes constant time. */
export const isReturnPath = (secret: Uint8Array, token: ReturnToken): boolean =>
  timingSafeEqual(macOf(secret, token), token.mac);
