import { keyedDigest } from '../digest.ts';

/**
 * What messages are found by though the log and the read models do not know it: digests under the organization's
 * secret, made when the message is accepted. The texts themselves are in the vault alone.
 */

/** A subject as people compare it: letter case, the kind of white space and how much of it say nothing. */
const comparable = (subject: string): string => subject.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();

export const subjectDigest = (secret: Uint8Array, subject: string): string =>
  keyedDigest(secret, 'subject', comparable(subject));

export const metadataDigest = (secret: Uint8Array, name: string, value: string): string =>
  keyedDigest(secret, 'metadata', `${name}\0${value}`);
