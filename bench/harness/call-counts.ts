import crypto, { createHash, createHmac } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { promiseHooks } from 'node:v8';

export interface CallCounts {
  readonly promises: number;
  /** Hashes and HMACs. */
  readonly digests: number;
}

let digests = 0;
const counted = { isOn: false };

const countDigestsOf = (prototype: { digest(encoding?: crypto.BinaryToTextEncoding): unknown }): void => {
  const { digest } = prototype;
  prototype.digest = function (this: unknown, encoding) {
    digests += 1;
    return Reflect.apply(digest, this, encoding === undefined ? [] : [encoding]);
  };
};

/** Replaces Node's functions by ones that count, once: modules keep what they imported. */
const countDigests = (): void => {
  if (counted.isOn) return;
  counted.isOn = true;
  countDigestsOf(Object.getPrototypeOf(createHash('sha256')));
  countDigestsOf(Object.getPrototypeOf(createHmac('sha256', '')));
  const { hash } = crypto;
  crypto.hash = ((...parameters: Parameters<typeof hash>) => {
    digests += 1;
    return hash(...parameters);
  }) as typeof hash;
  syncBuiltinESMExports();
};

/** Counts promises and digests of this thread. @returns a function that ends counting. */
export const countCalls = (): (() => CallCounts) => {
  countDigests();
  const before = digests;
  let promises = 0;
  const stop = promiseHooks.onInit(() => {
    promises += 1;
  });
  return () => {
    (stop as () => void)();
    return { promises, digests: digests - before };
  };
};
