import { generateKeyPairSync, type KeyObject } from 'node:crypto';

const BITS = 2048;

/** A new private key of the length that the service signs with. */
export const rsaKey = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: BITS }).privateKey;
