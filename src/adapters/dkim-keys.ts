import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { type DkimKeys, DkimKeysBusy, type MadeDkimKey } from '../domain/ports/secrets.ts';

const generate = promisify(generateKeyPair);

/** RFC 8301 §3.2 asks for 2048 bits. 4096 exceed the limits of some receivers and many DNS forms. */
const RSA_BITS = 2048;
/**
 * Each pair occupies a thread for some 100 ms: with more callers, the last would wait longer than a request may take.
 */
const WAITING_MAX = 64;

const PEM = { type: 'pkcs8', format: 'pem' } as const;
/** Prefix before the bare key in the SubjectPublicKeyInfo of every Ed25519 key (RFC 8410 §4). */
const ED25519_PREFIX_BYTES = 12;

const makeRsa = async (): Promise<MadeDkimKey> => {
  const { privateKey, publicKey } = await generate('rsa', { modulusLength: RSA_BITS });
  return {
    algorithm: 'rsa-sha256',
    privateKey: privateKey.export(PEM).toString(),
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  };
};

const makeEd25519 = async (): Promise<MadeDkimKey> => {
  const { privateKey, publicKey } = await generate('ed25519', {});
  const info = publicKey.export({ type: 'spki', format: 'der' });
  return {
    algorithm: 'ed25519-sha256',
    privateKey: privateKey.export(PEM).toString(),
    publicKey: info.subarray(ED25519_PREFIX_BYTES).toString('base64'),
  };
};

const makePair = async (): Promise<readonly MadeDkimKey[]> => [await makeRsa(), await makeEd25519()];

export interface GeneratedDkimKeysOptions {
  /** Make the first pair at once, so that registering the first domain does not wait for it. */
  readonly ahead?: boolean;
  /** Concurrent callers. Default: as many as can be served within the time limit of a request. */
  readonly waitingMax?: number;
}

/**
 * Generates keys from the platform's own randomness, on its thread pool. One pair at a time, to leave the pool's other
 * threads to signing.
 */
export const createGeneratedDkimKeys = ({
  ahead = false,
  waitingMax = WAITING_MAX,
}: GeneratedDkimKeysOptions = {}): DkimKeys => {
  let ready = ahead ? makePair() : null;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  ready?.catch(() => undefined); // whoever takes it is told

  const take = (): Promise<readonly MadeDkimKey[]> => {
    const taken = ready ?? makePair();
    ready = null;
    return taken;
  };

  return {
    make: async () => {
      if (waiting >= waitingMax) throw new DkimKeysBusy(`${waiting} others wait for DKIM keys`);
      waiting += 1;
      const made = last.then(take, take);
      last = made;
      try {
        return await made;
      } finally {
        waiting -= 1;
      }
    },
  };
};
