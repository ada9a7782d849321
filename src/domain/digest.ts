import { createHmac, hash } from 'node:crypto';

/** Keyed digest, hex of the first 16 bytes of HMAC-SHA256: tells equal from different to whoever holds the secret. */
export const keyedDigest = (secret: Uint8Array, purpose: string, text: string): string =>
  keyedBytes(secret, purpose, text).subarray(0, 16).toString('hex');

/** HMAC-SHA256 over `purpose NUL text`; 32 bytes. */
export const keyedBytes = (secret: Uint8Array, purpose: string, text: string): Buffer =>
  createHmac('sha256', secret).update(purpose).update('\0').update(text).digest();

/** SHA-256, hex. */
export const sha256Hex = (text: string): string => hash('sha256', text, 'hex');

/** SHA-256, 32 bytes. */
export const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer');
