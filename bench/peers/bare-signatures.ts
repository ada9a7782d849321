import { sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { rsaKey } from './rsa-key.ts';

const SIGNATURES = 3_000;
/** Enough to keep each core busy. */
const IN_FLIGHT = 4 * availableParallelism();
/** Same length as the headers covered by the service's signature. */
const DATA = Buffer.alloc(600, 'x');
const SECOND_MS = 1_000;

/**
 * RSA-2048 signing on the same threads as the service and nothing else: an upper bound for any service that signs each
 * message.
 */
export const openBareSignatures = (): (() => Promise<number>) => {
  const key = rsaKey();
  const signOne = (): Promise<void> =>
    new Promise((resolve, reject) =>
      sign('sha256', DATA, key, (error) => (error === null ? resolve() : reject(error))),
    );
  return async () => {
    const beganMs = performance.now();
    let begun = 0;
    const lane = async (): Promise<void> => {
      while (begun < SIGNATURES) {
        begun += 1;
        await signOne();
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
    return (SIGNATURES * SECOND_MS) / (performance.now() - beganMs);
  };
};
