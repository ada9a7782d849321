import type { DkimKey } from '../../domain/sending-domain/events.ts';
import type { CommandContext } from '../context.ts';

/** Three bytes tell a key from all others of its name, whoever made them, which are few. */
const SELECTOR_BYTES = 3;
const PREFIXES = { 'rsa-sha256': 'ob-r', 'ed25519-sha256': 'ob-e' } as const;

/** Makes a pair of keys; the private halves are in the vault when it resolves. @throws {DkimKeysBusy} */
export const makeKeys = async (
  { dkimKeys, secrets, system }: Pick<CommandContext, 'dkimKeys' | 'secrets' | 'system'>,
  organizationId: string,
): Promise<readonly DkimKey[]> => {
  const made = await dkimKeys.make();
  const letters = Buffer.from(system.randomBytes(SELECTOR_BYTES)).toString('hex');
  return Promise.all(
    made.map(async ({ algorithm, publicKey, privateKey }) => {
      const secretId = system.uuid();
      await secrets.put(secretId, organizationId, privateKey);
      return { selector: `${PREFIXES[algorithm]}-${letters}`, algorithm, publicKey, secretId };
    }),
  );
};
