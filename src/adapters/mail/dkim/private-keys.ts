import { createPrivateKey, hash, type KeyObject } from 'node:crypto';
import type { SigningKey } from '../../../domain/signing-key.ts';

/** Some 4 kB each. Fewer than the domains that send at a time are parsed again, 0.1 ms each; more only cost memory. */
const KEYS_MAX = 1_000;
/** RFC 8301 §3.2: verifiers must not take shorter ones. */
const RSA_BITS_MIN = 1024;
const KINDS = { 'rsa-sha256': 'rsa', 'ed25519-sha256': 'ed25519' } as const;
/** RFC 6376 §3.5: nothing that could end the tag. */
const NAME = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i;
const NAME_CHARACTERS_MAX = 253;

const isName = (text: string): boolean => text.length <= NAME_CHARACTERS_MAX && NAME.test(text);

const parse = ({ domain, selector, algorithm, privateKey }: SigningKey): KeyObject => {
  if (!isName(domain) || !isName(selector)) throw new Error('a signing key has a domain or selector that is no name');
  let key: KeyObject;
  try {
    key = createPrivateKey(privateKey);
  } catch (cause) {
    throw new Error(`the signing key ${selector} of ${domain} cannot be read`, { cause });
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? RSA_BITS_MIN;
  if (key.asymmetricKeyType !== KINDS[algorithm] || bits < RSA_BITS_MIN) {
    throw new Error(`the signing key ${selector} of ${domain} is not fit for ${algorithm}`);
  }
  return key;
};

export interface PrivateKeys {
  /** @throws {Error} it cannot be read, or does not fit its algorithm. */
  of(key: SigningKey): KeyObject;
}

/** Keys as they are signed with; each is parsed once while it is in use. */
export const createPrivateKeys = (keysMax = KEYS_MAX): PrivateKeys => {
  const known = new Map<string, KeyObject>();
  return {
    of: (key) => {
      const name = `${key.selector} ${key.domain} ${key.algorithm} ${hash('sha256', key.privateKey, 'base64')}`;
      const parsed = known.get(name) ?? parse(key);
      // What was used last stands last; the first is forgotten.
      known.delete(name);
      known.set(name, parsed);
      if (known.size > keysMax) known.delete(known.keys().next().value ?? name);
      return parsed;
    },
  };
};
