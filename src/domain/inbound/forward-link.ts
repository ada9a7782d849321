/**
 * Links by which an address agrees to get the mail of a route. A token names the route, the address by its vault id and
 * the time when it expires, so that nothing is stored for it, and a link for an earlier address confirms nothing.
 */
import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../kernel/digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../kernel/ids.ts';

/** 120 bits cannot be guessed, and 51 bytes leave no unused bits, so each token has one spelling. */
const MAC_BYTES = 15;
const TOKEN = /^[\w-]{68}$/;
const TIME_BYTES = 4;
const TIME_AT = 2 * ID_BYTES;
const MAC_AT = TIME_AT + TIME_BYTES;
const SECOND_MS = 1000;

/** Longer: a link in an old mailbox still works. Shorter: people on holiday need another one. */
export const CONFIRMATION_DAYS = 7;
const DAY_SECONDS = 86_400;

interface ForwardLink {
  readonly routeId: string;
  /** Vault id of the address. */
  readonly addressId: string;
}

/** Claim made by a link. It is unproved until the MAC is checked with the organization's secret. */
interface ForwardToken extends ForwardLink {
  /** Time in seconds since 1970. */
  readonly expires: number;
  readonly mac: Buffer;
}

const macOf = (secret: Uint8Array, { routeId, addressId, expires }: Omit<ForwardToken, 'mac'>): Buffer =>
  keyedBytes(secret, 'confirmation of a forward', `${routeId}\0${addressId}\0${expires}`).subarray(0, MAC_BYTES);

const bytesOfUuid = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

export const forwardToken = (secret: Uint8Array, link: ForwardLink, now: Date): string => {
  const expires = Math.floor(now.getTime() / SECOND_MS) + CONFIRMATION_DAYS * DAY_SECONDS;
  const time = Buffer.alloc(TIME_BYTES);
  time.writeUInt32BE(expires);
  const mac = macOf(secret, { ...link, expires });
  return Buffer.concat([bytesOfId(link.routeId), bytesOfUuid(link.addressId), time, mac]).toString('base64url');
};

/** Parses a token; null if the text cannot be one. */
export const readForwardToken = (text: string): ForwardToken | null => {
  if (!TOKEN.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  const hex = bytes.subarray(ID_BYTES, TIME_AT).toString('hex');
  return {
    routeId: formatId('irt', bytes.subarray(0, ID_BYTES)),
    addressId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    expires: bytes.readUInt32BE(TIME_AT),
    mac: bytes.subarray(MAC_AT),
  };
};

/** Whether the token was made with this secret, and has not expired. Takes constant time. */
export const isForwardToken = (secret: Uint8Array, token: ForwardToken, now: Date): boolean =>
  timingSafeEqual(macOf(secret, token), token.mac) && now.getTime() < token.expires * SECOND_MS;
