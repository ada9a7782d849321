import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../ids.ts';

/** What mail to such an address is about: what became of a message, or that somebody wants no more of them. */
export type ReturnPurpose = 'bounce' | 'unsubscribe';

/** Whose an address says it is. Nothing is proved before the organization's secret has been asked. */
export interface ReturnToken {
  readonly purpose: ReturnPurpose;
  readonly messageId: string;
  /** Place among the message's recipients, from 0; null: all of them. */
  readonly recipientIndex: number | null;
  readonly mac: Buffer;
}

/** Of the HMAC: nobody guesses 104 bits by mail, and with them the bytes are whole characters. */
const MAC_BYTES = 13;
const TOKEN_BYTES = ID_BYTES + 1 + MAC_BYTES;
/** Five bits each. With the letter before them they leave 15 of the octets of a local part (RFC 5321 §4.5.3.1.1). */
const CHARACTERS = (TOKEN_BYTES * 8) / 5;
const ALL_RECIPIENTS = 255;
const LETTERS: Readonly<Record<ReturnPurpose, string>> = { bounce: 'b', unsubscribe: 'u' };
/** RFC 4648 §7: letters of either case mean the same, as relays may fold them. */
const SHAPE = /^[bu][0-9a-v]{48}$/;

type Named = Pick<ReturnToken, 'purpose' | 'messageId' | 'recipientIndex'>;

const subjectOf = ({ messageId, recipientIndex }: Named): Buffer =>
  Buffer.concat([bytesOfId(messageId), Buffer.of(recipientIndex ?? ALL_RECIPIENTS)]);

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
  const known = recipientIndex === null || recipientIndex < ALL_RECIPIENTS ? named : { ...named, recipientIndex: null };
  return LETTERS[named.purpose] + base32(Buffer.concat([subjectOf(known), macOf(secret, known)]));
};

/** null: no local part was ever written like that. */
export const readReturnPath = (localPart: string): ReturnToken | null => {
  const text = localPart.toLowerCase();
  if (!SHAPE.test(text)) return null;
  const bytes = bytesOf(text.slice(1));
  const recipientIndex = bytes.readUInt8(ID_BYTES);
  return {
    purpose: text.startsWith(LETTERS.bounce) ? 'bounce' : 'unsubscribe',
    messageId: formatId('msg', bytes.subarray(0, ID_BYTES)),
    recipientIndex: recipientIndex === ALL_RECIPIENTS ? null : recipientIndex,
    mac: bytes.subarray(ID_BYTES + 1),
  };
};

/** Whether it was made with this secret; as long for every answer. */
export const isReturnPath = (secret: Uint8Array, token: ReturnToken): boolean =>
  timingSafeEqual(macOf(secret, token), token.mac);
