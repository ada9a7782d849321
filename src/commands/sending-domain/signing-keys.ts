import type { Secrets } from '../../domain/ports/secrets.ts';
import { dkimHost, signingKeys } from '../../domain/sending-domain/dkim.ts';
import type { ExistingSendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import type { SigningKey } from '../../domain/signing-key.ts';

/**
 * The keys that mail of a domain is signed by (`signingKeys`), with their private halves.
 * @throws {Error} the vault lacks one: mail would go out unsigned.
 * @throws {WrongSecretKey}
 */
export const activeSigningKeys = async (
  { name, dkim }: Pick<ExistingSendingDomain, 'name' | 'dkim'>,
  secrets: Pick<Secrets, 'get'>,
  capturing = false,
): Promise<readonly SigningKey[]> =>
  Promise.all(
    signingKeys(dkim, capturing).map(async ({ selector, algorithm, secretId }) => {
      const privateKey = await secrets.get(secretId);
      if (privateKey === undefined) throw new Error(`the vault lacks the key of ${dkimHost(name, selector)}`);
      return { domain: name, selector, algorithm, privateKey };
    }),
  );
