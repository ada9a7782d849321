/**
 * Return addresses of forwarded mail, in the form of the Sender Rewriting Scheme: `SRS0=<hash>=<day>=<id>=inb`. A bounce
 * to such an address ends here, so it names the inbound message instead of the original sender: the address fits into 64
 * octets, and is no personal data. The HMAC is made with a secret of the installation, so that a forged address is
 * refused at RCPT without a query.
 */
import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../kernel/digest.ts';

/** 96 bits: an address cannot be guessed by mail, and the local part has 63 of the 64 octets of RFC 5321 §4.5.3.1.1. */
const MAC_BYTES = 12;
/** Case-insensitive, because relays may change the case. */
const LOCAL_PART = /^srs0=([0-9a-f]{24})=([0-9a-v]{2})=([a-z2-7]{26})=inb$/;
const PREFIX = 'inb_';
const DAY_MS = 86_400_000;
/** Days of two characters. An address works again after three years, for a message whose forwarding ended long before. */
const DAYS = 1024;
/** Servers report within five days (RFC 5321 §4.5.4.1), some within two weeks. */
export const RETURN_DAYS = 21;

/** Secrets of the installation. The first makes addresses; addresses of all are accepted. */
export type ReturnSecrets = readonly [Uint8Array, ...Uint8Array[]];

const dayOf = (time: Date): number => Math.floor(time.getTime() / DAY_MS) % DAYS;

const macOf = (secret: Uint8Array, day: string, inboundId: string): Buffer =>
  keyedBytes(secret, 'return address of forwarded mail', `${day}\0${inboundId}`).subarray(0, MAC_BYTES);

/** Local part to which a server returns a forwarded message. */
export const forwardReturnAddress = ([secret]: ReturnSecrets, inboundId: string, now: Date): string => {
  const day = dayOf(now).toString(32).padStart(2, '0');
  return `SRS0=${macOf(secret, day, inboundId).toString('hex')}=${day}=${inboundId.replace(PREFIX, '')}=inb`;
};

/** Whether it looks like such an address, genuine or not. */
export const isForwardReturnAddress = (localPart: string): boolean => /^srs[01][=+-]/i.test(localPart);

/** The inbound message that an address names; null: it is forged, malformed or older than `RETURN_DAYS`. */
export const readForwardReturnAddress = (secrets: ReturnSecrets, localPart: string, now: Date): string | null => {
  const [, hex = '', day = '', id] = LOCAL_PART.exec(localPart.toLowerCase()) ?? [];
  if (id === undefined) return null;
  const inboundId = `${PREFIX}${id}`;
  const mac = Buffer.from(hex, 'hex');
  const isOurs = secrets.some((secret) => timingSafeEqual(macOf(secret, day, inboundId), mac));
  const age = (dayOf(now) - Number.parseInt(day, 32) + DAYS) % DAYS;
  return isOurs && age <= RETURN_DAYS ? inboundId : null;
};
