import { generateKeyPairSync, type KeyObject } from 'node:crypto';

const BITS = 2048;

/** A new private key of the service's key length. */
export const rsaKey = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: BITS }).privateKey;
