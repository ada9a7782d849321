import { describe, expect, it } from 'vitest';
import { createPrivateKeys, type SigningKey } from '../../../../src/lib/smtp/smtp.ts';
import { BOTH, ed25519, made, NEITHER, rsa } from './signed-mail.ts';
import { ed25519Key, rsaKey } from './test-keys.ts';
import { createVerifier } from './verify.ts';

describe('a key', () => {
  const pem = (text: string): SigningKey => ({ ...rsa.key, privateKey: text });
  it.each([
    ['is no key', pem('nonsense')],
    ['is empty', pem('')],
    ['is public', pem('-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n')],
    ['is of another kind', { ...rsa.key, algorithm: 'ed25519-sha256' as const }],
    ['is of another kind too', { ...ed25519.key, algorithm: 'rsa-sha256' as const }],
    ['is too short', rsaKey('a.test', 'r1', 512).key],
    ['has a domain with a line end', { ...rsa.key, domain: 'a.test\r\nBcc: x@y.test' }],
    ['has a selector with a semicolon', { ...rsa.key, selector: 'a; l=0' }],
    ['has an empty selector', { ...rsa.key, selector: '' }],
    ['has a domain of 10 MB', { ...rsa.key, domain: 'a'.repeat(10_000_000) }],
  ])('that %s is a fault, reported without the key', async (_, key) => {
    const error: Error = await made({ signing: [ed25519.key, key] }).then(
      () => Promise.reject(new Error('it was signed')),
      (thrown: Error) => thrown,
    );
    expect(error.message).toContain('signing key');
    expect(`${error.message}${error.cause ?? ''}`).not.toContain('MC');
  });

  it('that replaces another with the same names signs at once', async () => {
    const next = rsaKey();
    expect(await createVerifier([next])(await made({ signing: [next.key] }))).toEqual([BOTH[0]]);
    expect(await createVerifier([next])(await made({ signing: [rsa.key] }))).toEqual([NEITHER[0]]);
  });

  it('is parsed once while it is in use, and forgotten when others are', () => {
    const keys = createPrivateKeys(2);
    const [first, second, third] = [ed25519Key().key, ed25519Key().key, ed25519Key().key];
    const parsed = keys.of(first);
    keys.of(second);
    expect(keys.of({ ...first })).toBe(parsed);
    keys.of(third);
    expect(keys.of(first)).toBe(parsed);
    expect(keys.of(second)).not.toBe(keys.of(third));
    expect(keys.of(first)).not.toBe(parsed);
  });
});
