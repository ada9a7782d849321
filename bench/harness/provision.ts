import { createKey } from '../../src/commands/api-key.ts';
import type { CommandContext, Origin } from '../../src/commands/execute.ts';
import { createOrganization } from '../../src/commands/organization.ts';
import { registerDomain, verifyDomain } from '../../src/commands/sending-domain/change-domain.ts';
import { recordsToPublish } from '../../src/domain/sending-domain/records-to-publish.ts';
import { createInMemoryResolver } from '../../test/support/in-memory/dns.ts';

/** Sender domain of every message. */
export const SENDING_DOMAIN = 'bench.example';
/** The highest limit that a key can have. */
const PER_MINUTE = 10_000_000;

/** Disables DKIM signatures. */
const NO_KEYS: CommandContext['dkimKeys'] = { make: async () => [] };

export interface Provisioning {
  /**
   * True: mail is signed with RSA-2048 only, like the peers', because the record of the Ed25519 key is not published.
   */
  readonly signs: boolean;
}

/** Creates an organization with a verified domain. @returns a live key with limits too high to matter. */
export const provision = async (given: CommandContext, { signs }: Provisioning): Promise<string> => {
  const dkimKeys = signs ? given.dkimKeys : NO_KEYS;
  const context: CommandContext = { ...given, dkimKeys, capturing: false };
  const organizationId = await createOrganization(context, { name: 'Bench', ceilings: null });
  const origin: Origin = {
    actor: 'operator',
    organizationId,
    environment: null,
    requestId: null,
    correlationId: organizationId,
    causationId: organizationId,
  };
  const { domain } = await registerDomain(context, origin, { name: SENDING_DOMAIN });
  const { domainId } = domain;
  const records = recordsToPublish(domain, { bounceDomain: null, trackingTarget: null }).filter(
    ({ required }) => required,
  );
  const txt = (at: string): readonly string[] => records.flatMap(({ host, value }) => (host === at ? [value] : []));
  const resolver = createInMemoryResolver({ txt });
  await verifyDomain({ ...context, resolver }, origin, { domainId });
  const { value } = await createKey(context, origin, {
    by: 'operator',
    domainId,
    name: 'bench',
    permissions: ['admin'],
    environment: 'live',
    rateLimits: { send: PER_MINUTE, read: PER_MINUTE, manage: PER_MINUTE },
    allowedCidrs: [],
    expiresAt: null,
  });
  return value;
};
