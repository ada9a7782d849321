import type { Secrets } from '../../domain/secrets.ts';

/** Each organization's secret: keys its digests and idempotent ids. Never changes, so it is read once. */
export interface OrganizationSecrets {
  /** @throws {Error} the vault has no secret for this organization: a fault. */
  of(organizationId: string): Promise<Uint8Array>;
}

/** 10,000 secrets are about 2 MB; beyond that the oldest is read again when needed. */
const CACHED_MAX = 10_000;

export const createOrganizationSecrets = (secrets: Secrets): OrganizationSecrets => {
  const cached = new Map<string, Uint8Array>();
  return {
    of: async (organizationId) => {
      const known = cached.get(organizationId);
      if (known !== undefined) return known;
      const stored = await secrets.get(organizationId);
      if (stored === undefined) throw new Error(`the vault holds no secret of organization ${organizationId}`);
      const secret = Buffer.from(stored, 'base64');
      const oldest = cached.size >= CACHED_MAX ? cached.keys().next().value : undefined;
      if (oldest !== undefined) cached.delete(oldest);
      cached.set(organizationId, secret);
      return secret;
    },
  };
};
