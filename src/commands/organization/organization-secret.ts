import type { Secrets } from '../../domain/ports/secrets.ts';

/**
 * The organization's secret, which keys its digests and its idempotent message ids; 32 bytes. Stored in the vault under
 * the organization's id.
 * @throws {Error} the vault holds none: a fault.
 */
export const organizationSecret = async (secrets: Secrets, organizationId: string): Promise<Uint8Array> => {
  const stored = await secrets.get(organizationId);
  if (stored === undefined) throw new Error(`the vault holds no secret of organization ${organizationId}`);
  return Buffer.from(stored, 'base64');
};
