import type { Secrets } from '../../domain/secrets.ts';
import { dkimHost } from '../../domain/sending-domain/dkim.ts';
import type { ExistingSendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import type { SigningKey } from '../../domain/signing-key.ts';

/**
 * The keys that mail of a domain is signed by: those whose records were seen, RSA first; none before any was.
 * @throws {Error} the vault lacks one: mail would go out unsigned.
 * @throws {WrongSecretKey}
 */
export const activeSigningKeys = async (
  { name, dkim: { active } }: Pick<ExistingSendingDomain, 'name' | 'dkim'>,
  secrets: Pick<Secrets, 'get'>,
): Promise<readonly SigningKey[]> => {
  const keys = active?.keys.filter(({ selector }) => active.signing.includes(selector)) ?? [];
  return Promise.all(
    keys.map(async ({ selector, algorithm, secretId }) => {
      const privateKey = await secrets.get(secretId);
      if (privateKey === undefined) throw new Error(`the vault lacks the key of ${dkimHost(name, selector)}`);
      return { domain: name, selector, algorithm, privateKey };
    }),
  );
};
