import { createKey } from '../../src/commands/api-key.ts';
import type { CommandContext, Origin } from '../../src/commands/execute.ts';
import { createOrganization } from '../../src/commands/organization.ts';
import { registerDomain, verifyDomain } from '../../src/commands/sending-domain/change-domain.ts';
import { registerWebhook } from '../../src/commands/webhook.ts';
import { recordsToPublish } from '../../src/domain/sending-domain/records-to-publish.ts';
import type { TestNameServer } from '../../test/support/name-server.ts';

/** The highest limit that a key can have. */
const PER_MINUTE = 10_000_000;

/** Sender address of every message. */
export const SENDER = 'shop@chaos.example';

interface Around {
  readonly webhookUrl: string;
  /** The name server that the context queries. */
  readonly dns: TestNameServer;
}

/** Creates an organization that may send and has a webhook for every event of its messages. @returns a live key. */
export const provision = async (given: CommandContext, { webhookUrl, dns }: Around): Promise<string> => {
  const context: CommandContext = { ...given, capturing: false };
  const organizationId = await createOrganization(context, { name: 'Chaos', ceilings: null });
  const origin: Origin = {
    actor: 'operator',
    organizationId,
    environment: null,
    requestId: null,
    correlationId: organizationId,
    causationId: organizationId,
  };
  const { domain } = await registerDomain(context, origin, { name: 'chaos.example' });
  const { domainId } = domain;
  const records = recordsToPublish(domain, { bounceDomain: null, trackingTarget: null });
  const texts = records.filter(({ type }) => type === 'TXT');
  dns.change(Object.fromEntries(texts.map(({ host, value }) => [host, { TXT: [value] }])));
  await verifyDomain(context, origin, { domainId });
  // The receiver is on this machine, which is not allowed for customers.
  const webhookTarget = { ...context.webhookTarget, problemWith: async () => null };
  const endpoint = { url: webhookUrl, events: ['message.*'], environment: 'live', description: null } as const;
  await registerWebhook({ ...context, webhookTarget }, origin, endpoint);
  const { value } = await createKey(context, origin, {
    by: 'operator',
    domainId,
    name: 'chaos',
    permissions: ['admin'],
    environment: 'live',
    rateLimits: { send: PER_MINUTE, read: PER_MINUTE, manage: PER_MINUTE },
    allowedCidrs: [],
    expiresAt: null,
  });
  return value;
};
