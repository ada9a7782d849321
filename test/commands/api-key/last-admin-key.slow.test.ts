import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { createHttpWebhookTarget } from '../../../src/adapters/webhook-target/http.ts';
import { createKey, deleteKey, type KeyChange, revokeKey, updateKey } from '../../../src/commands/api-key.ts';
import type { CommandContext, Origin } from '../../../src/commands/execute.ts';
import { createOrganization } from '../../../src/commands/organization.ts';
import { registerDomain } from '../../../src/commands/sending-domain/change-domain.ts';
import type { Caller } from '../../../src/domain/api-key/caller.ts';
import { workingAdminKeys } from '../../../src/domain/api-key/key-cache-projection.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import { createKeyCache, type KeyCache } from '../../../src/http/auth/key-cache.ts';
import { UNBOUNDED } from '../../support/controls/api-key.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryDkimKeys } from '../../support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../../support/in-memory/dns.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { silentLogger } from '../../support/logger.ts';
import { migratedDatabase, type TestDatabase } from '../../support/postgres.ts';

const ROUNDS = 50;

/** State of one API process. */
interface Process {
  readonly context: CommandContext;
  readonly keyCache: KeyCache;
  close(): Promise<void>;
}

let database: TestDatabase;
let first: Process;
let second: Process;

const openProcess = async (url: string): Promise<Process> => {
  const system = createSystem();
  const store = await createPostgresEventStore({ url, codec: eventCodec, system, logger: silentLogger });
  const webhookTarget = createHttpWebhookTarget({ system, allowLoopback: true });
  const keyCache = createKeyCache({ store, system, logger: silentLogger, capturing: true });
  await keyCache.start();
  return {
    keyCache,
    context: {
      store,
      system,
      webhookTarget,
      capturing: true,
      resolver: createInMemoryResolver(),
      dkimKeys: createInMemoryDkimKeys(),
      contents: createInMemoryContents(),
      secrets: createInMemorySecrets(),
    },
    close: async () => {
      await keyCache.close();
      await webhookTarget.close();
      await store.close();
    },
  };
};

beforeAll(async () => {
  database = await migratedDatabase();
  [first, second] = await Promise.all([openProcess(database.url), openProcess(database.url)]);
});
afterAll(async () => {
  await first.close();
  await second.close();
  await database.drop();
});

interface Tenant {
  readonly origin: Origin;
  readonly by: Caller;
  readonly keyIds: readonly string[];
}

const originOf = (organizationId: string): Origin => ({
  actor: 'key:key_test',
  organizationId,
  environment: 'live',
  requestId: null,
  correlationId: 'test',
  causationId: 'test',
});

/** An organization with `count` admin keys and no other administrators. */
const tenantWith = async (count: number): Promise<Tenant> => {
  const { context } = first;
  const organizationId = await createOrganization(context, { name: 'Test', ceilings: null });
  const origin = originOf(organizationId);
  const { domain } = await registerDomain(context, origin, { name: `${organizationId.slice(4)}.test` });
  const keyIds: string[] = [];
  for (let made = 0; made < count; made += 1) {
    const { key } = await createKey(context, origin, {
      by: 'operator',
      domainId: domain.domainId,
      name: 'admin',
      permissions: ['admin'],
      environment: 'live',
      rateLimits: {},
      allowedCidrs: [],
      expiresAt: null,
    });
    keyIds.push(key.keyId);
  }
  const by: Caller = {
    keyId: 'key_test',
    organizationId,
    environment: 'live',
    permissions: ['admin'],
    ...UNBOUNDED,
    domain: { id: domain.domainId, name: domain.name, verified: true },
  };
  return { origin, by, keyIds };
};

type Loss = (process: Process, tenant: Tenant, keyId: string) => Promise<unknown>;

const changeOf = ({ keyCache }: Process, { by }: Tenant, keyId: string): KeyChange => ({
  by,
  keyId,
  loadKeyCache: keyCache.load,
});

const update =
  (changes: Parameters<typeof updateKey>[2]['changes'], leavesOutRequester = false): Loss =>
  (process, tenant, keyId) =>
    updateKey(process.context, tenant.origin, { ...changeOf(process, tenant, keyId), changes, leavesOutRequester });

const LOSSES: Readonly<Record<string, Loss>> = {
  revoked: (process, tenant, keyId) => revokeKey(process.context, tenant.origin, changeOf(process, tenant, keyId)),
  deleted: (process, tenant, keyId) => deleteKey(process.context, tenant.origin, changeOf(process, tenant, keyId)),
  demoted: update({ permissions: ['manage'] }),
  'made to expire': update({ expiresAt: '2099-01-01T00:00:00.000Z' }),
  'shut out from where it is used': update({ allowedCidrs: ['192.0.2.1'] }, true),
};

const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
  );

describe('the last admin key of an organization', () => {
  test.each(Object.entries(LOSSES))('cannot be %s', async (_what, lose) => {
    const tenant = await tenantWith(1);
    expect(await outcomeOf(lose(first, tenant, tenant.keyIds[0] ?? ''))).toBe('last_admin_key');
  });

  test.each(Object.entries(LOSSES))('may be %s once there is another', async (_what, lose) => {
    const tenant = await tenantWith(2);
    expect(await outcomeOf(lose(first, tenant, tenant.keyIds[0] ?? ''))).toBe('done');
  });

  test('can be renamed, rotated and restricted to networks', async () => {
    const tenant = await tenantWith(1);
    const changes = { name: 'other', allowedCidrs: ['192.0.2.0/24'] };
    expect(await outcomeOf(update(changes)(first, tenant, tenant.keyIds[0] ?? ''))).toBe('done');
  });

  test('remains when two processes remove the last two at the same moment, in any way', async () => {
    const losses = [LOSSES.revoked, LOSSES.deleted, LOSSES.demoted, LOSSES['made to expire']] as readonly Loss[];
    for (let round = 0; round < ROUNDS; round += 1) {
      const tenant = await tenantWith(2);
      const [one = '', other = ''] = tenant.keyIds;
      const [lose, loseToo] = [losses[round % losses.length], losses[(round >> 2) % losses.length]] as [Loss, Loss];
      const outcomes = await Promise.all([
        outcomeOf(lose(first, tenant, one)),
        outcomeOf(loseToo(second, tenant, other)),
      ]);
      expect(outcomes.sort()).toEqual(['done', 'last_admin_key']);
    }
  });

  test('remains when two processes remove five, each in its own order', async () => {
    for (let round = 0; round < 4; round += 1) {
      const tenant = await tenantWith(5);
      const { revoked } = LOSSES as { revoked: Loss };
      const outcomes = await Promise.all([
        ...tenant.keyIds.map((keyId) => outcomeOf(revoked(first, tenant, keyId))),
        ...tenant.keyIds.toReversed().map((keyId) => outcomeOf(revoked(second, tenant, keyId))),
      ]);
      expect(outcomes.filter((outcome) => outcome === 'done').length).toBeLessThan(5);
      const keyCache = await second.keyCache.load();
      const left = workingAdminKeys(keyCache, tenant.origin.organizationId, second.context.system.now().toISOString());
      expect(left.length).toBeGreaterThanOrEqual(1);
    }
  });

  test('counts keys again whose revocation was announced but did not follow', async () => {
    const tenant = await tenantWith(2);
    const [one = '', other = ''] = tenant.keyIds;
    const { store } = first.context;
    // The log becomes unavailable between the announcement and the revocation.
    const cut: Process = {
      ...first,
      context: {
        ...first.context,
        store: {
          ...store,
          append: (append) =>
            append.stream.startsWith('apiKey-') ? Promise.reject(new Error('away')) : store.append(append),
        },
      },
    };
    const { revoked } = LOSSES as { revoked: Loss };
    expect(await outcomeOf(revoked(cut, tenant, one))).toBe('Error: away');
    expect(await outcomeOf(revoked(second, tenant, other))).toBe('last_admin_key');
    expect(await outcomeOf(update({ name: 'still here' })(first, tenant, one))).toBe('done');
    expect(await outcomeOf(revoked(second, tenant, other))).toBe('done');
  });
});
