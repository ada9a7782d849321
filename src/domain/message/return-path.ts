import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../ids.ts';

/**
 * What it is about: what became of a message, that somebody wants no more of them, or (no address, but what servers alone
 * are told beside it, RFC 3461 §4.4) that whoever reports has had the message in hand.
 */
export type ReturnPurpose = 'bounce' | 'unsubscribe' | 'envelope';

/** Whose an address says it is. Nothing is proved before the organization's secret has been asked. */
export interface ReturnToken {
  readonly purpose: ReturnPurpose;
  readonly messageId: string;
  /** Place among the message's recipients, from 0; null: all of them, as messages had it that were sent earlier. */
  readonly recipientIndex: number | null;
  /** He and the others of his domain, who had one copy together. */
  readonly sharesDomain?: boolean;
  readonly mac: Buffer;
}

/** Of the HMAC: nobody guesses 104 bits by mail, and with them the bytes are whole characters. */
const MAC_BYTES = 13;
const TOKEN_BYTES = ID_BYTES + 1 + MAC_BYTES;
/** Five bits each. With the letter before them they leave 15 of the octets of a local part (RFC 5321 §4.5.3.1.1). */
const CHARACTERS = (TOKEN_BYTES * 8) / 5;
const ALL_RECIPIENTS = 255;
/** Beside the place of one of them. A message has 50 recipients, and this leaves room for 127. */
const SHARES_DOMAIN = 128;
const LETTERS: Readonly<Record<ReturnPurpose, string>> = { bounce: 'b', unsubscribe: 'u', envelope: 'e' };
const PURPOSES = new Map(Object.entries(LETTERS).map(([purpose, letter]) => [letter, purpose as ReturnPurpose]));
/** RFC 4648 §7: letters of either case mean the same, as relays may fold them. */
const SHAPE = /^[bue][0-9a-v]{48}$/;

type Named = Pick<ReturnToken, 'purpose' | 'messageId' | 'recipientIndex' | 'sharesDomain'>;

const placeOf = ({ recipientIndex, sharesDomain }: Named): number => {
  if (recipientIndex === null) return ALL_RECIPIENTS;
  return sharesDomain === true ? recipientIndex + SHARES_DOMAIN : recipientIndex;
};

const subjectOf = (named: Named): Buffer => Buffer.concat([bytesOfId(named.messageId), Buffer.of(placeOf(named))]);

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

/** The local part of the address that a message is returned to: it needs no table to be known again. */
export const returnPath = (secret: Uint8Array, named: Named): string => {
  const { recipientIndex } = named;
  const isSayable = recipientIndex === null || recipientIndex < SHARES_DOMAIN - 1;
  const known = isSayable ? named : { ...named, recipientIndex: null };
  return LETTERS[named.purpose] + base32(Buffer.concat([subjectOf(known), macOf(secret, known)]));
};

/** null: no local part was ever written like that. */
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

/** Whom of a message it is about, by their places. */
export const placesOf = (
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

/** Whether it was made with this secret; as long for every answer. */
export const isReturnPath = (secret: Uint8Array, token: ReturnToken): boolean =>
  timingSafeEqual(macOf(secret, token), token.mac);
