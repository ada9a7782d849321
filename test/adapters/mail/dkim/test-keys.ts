import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { SigningKey } from '../../../../src/lib/smtp/smtp.ts';

export interface TestKey {
  readonly key: SigningKey;
  /** Name and text of the TXT record. */
  readonly record: readonly [name: string, text: string];
}

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const RAW_BYTES = 32;

export const rsaKey = (domain = 'a.test', selector = 'r1', modulusLength = 2048): TestKey => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  const p = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  return {
    key: { domain, selector, algorithm: 'rsa-sha256', privateKey: pem(privateKey) },
    record: [`${selector}._domainkey.${domain}`, `v=DKIM1; k=rsa; p=${p}`],
  };
};

export const ed25519Key = (domain = 'a.test', selector = 'e1'): TestKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const p = publicKey.export({ type: 'spki', format: 'der' }).subarray(-RAW_BYTES).toString('base64');
  return {
    key: { domain, selector, algorithm: 'ed25519-sha256', privateKey: pem(privateKey) },
    record: [`${selector}._domainkey.${domain}`, `v=DKIM1; k=ed25519; p=${p}`],
  };
};
