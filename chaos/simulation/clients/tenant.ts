import { createKey } from '../../../src/commands/api-key.ts';
import type { CommandContext, Origin } from '../../../src/commands/execute.ts';
import { createOrganization, organizationSecret } from '../../../src/commands/organization.ts';
import { registerDomain } from '../../../src/commands/sending-domain/change-domain.ts';
import { registerWebhook } from '../../../src/commands/webhook.ts';
import type { Caller } from '../../../src/domain/api-key/caller.ts';
import type { Environment } from '../../../src/domain/kernel/environment.ts';
import { createInMemoryDkimKeys } from '../../../test/support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../../../test/support/in-memory/dns.ts';
import type { World } from '../world.ts';

/** An organization with a domain and two admin keys, created before any faults. */
export interface Tenant {
  readonly organizationId: string;
  readonly domainId: string;
  /** Ids of the keys known to clients. */
  readonly keyIds: string[];
  origin(environment: Environment): Origin;
  caller(environment: Environment): Caller;
}

const DOMAIN = 'example.test';
const ADMIN_KEYS = 2;

/** A context without faults and delays. */
const calmContext = ({ ground, log, vault }: World): CommandContext => ({
  store: { ...log.store, append: (append) => log.append(append, 'operator') },
  contents: vault.contents,
  secrets: vault.secrets,
  capturing: true,
  resolver: createInMemoryResolver(),
  dkimKeys: createInMemoryDkimKeys(),
  webhookTarget: {
    problemWith: async () => null,
    post: () => Promise.reject(new Error('no posts here')),
    close: async () => {},
  },
  system: {
    now: () => new Date(ground.startMs),
    monotonicMs: () => 0,
    randomBytes: ground.random.bytes,
    uuid: ground.random.uuid,
    sleep: async () => undefined,
  },
});

export const createTenant = async (world: World): Promise<Tenant> => {
  const context = calmContext(world);
  const organizationId = await createOrganization(context, { name: 'Test', ceilings: null });
  await organizationSecret(context.secrets, organizationId);
  const origin = (environment: Environment): Origin => ({
    actor: 'operator',
    organizationId,
    environment,
    requestId: null,
    correlationId: 'simulated',
    causationId: 'simulated',
  });
  const { domain } = await registerDomain(context, origin('live'), { name: DOMAIN });
  const { domainId } = domain;
  const keyIds: string[] = [];
  for (let made = 0; made < ADMIN_KEYS; made += 1) {
    const { key } = await createKey(context, origin('live'), {
      by: 'operator',
      domainId,
      name: 'admin',
      permissions: ['admin'],
      environment: 'live',
      rateLimits: {},
      allowedCidrs: [],
      expiresAt: null,
    });
    keyIds.push(key.keyId);
  }
  if (world.ground.random.chance(0.5)) {
    const endpoint = {
      url: 'https://hooks.example.test/',
      events: ['message.*', 'api_key.*', 'suppression.*'],
      description: null,
    };
    await registerWebhook(context, origin('live'), { ...endpoint, environment: 'live' });
  }
  return {
    organizationId,
    domainId,
    keyIds,
    origin,
    caller: (environment) => ({
      keyId: 'key_client',
      organizationId,
      environment,
      permissions: ['admin'],
      secret: 1,
      bounds: { allowedCidrs: [], expiresAt: null, rateLimits: {} },
      domain: { id: domainId, name: DOMAIN, verified: true },
    }),
  };
};
