import { sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { rsaKey } from './rsa-key.ts';

const SIGNATURES = 3_000;
/** Always one at hand for each core. */
const IN_FLIGHT = 4 * availableParallelism();
/** As long as the headers that a signature of ours covers. */
const DATA = Buffer.alloc(600, 'x');
const SECOND_MS = 1_000;

/** RSA-2048 on the threads that the service signs on, and nothing else: the bound of any service that signs each message. */
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
