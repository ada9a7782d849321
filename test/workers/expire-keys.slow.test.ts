import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createKey, deleteKey, updateKey } from '../../src/commands/api-key.ts';
import { registerDomain } from '../../src/commands/sending-domain/change-domain.ts';
import { createKeyCacheProjection } from '../../src/domain/api-key/key-cache-projection.ts';
import { apiKeyStream } from '../../src/domain/kernel/streams.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { openProjectedPostgres } from '../support/projected-postgres.ts';
import { openService, type Service } from './service.ts';
import { openReceiver } from './webhooks/receiver.ts';

const SOON_MS = 1_500;
let service: Service;

beforeEach(async () => {
  const { contents, store, readModels } = await openProjectedPostgres();
  service = await openService({ store, contents, expiredKeys: readModels.apiKeys.expired });
  closedAfterTest(service);
});
const origin = () => ({
  actor: 'operator',
  organizationId: service.organizationId,
  environment: null,
  requestId: null,
  correlationId: 'test',
  causationId: 'test',
});

const makeKey = async (domainId: string, expiresAt: string | null): Promise<string> => {
  const { key } = await createKey(service.context, origin(), {
    by: 'operator',
    domainId,
    name: 'k',
    permissions: ['send'],
    environment: 'live',
    rateLimits: {},
    allowedCidrs: [],
    expiresAt,
  });
  return key.keyId;
};

const typesOf = async (keyId: string): Promise<readonly string[]> =>
  (await service.context.store.readStream(apiKeyStream(keyId))).map(({ type }) => type);

describe('the expiry of a key', () => {
  test('is logged once with any number of processes, and reaches webhooks', async () => {
    const { domain } = await registerDomain(service.context, origin(), { name: 'keys.test' });
    const soon = new Date(service.system.now().getTime() + SOON_MS).toISOString();
    const [ending, removed] = [await makeKey(domain.domainId, soon), await makeKey(domain.domainId, soon)];
    const lasting = await makeKey(domain.domainId, '2099-01-01T00:00:00.000Z');
    const other = await makeKey(domain.domainId, null);
    const loadKeyCache = async () => createKeyCacheProjection();
    await deleteKey(service.context, origin(), { by: 'operator', keyId: removed, loadKeyCache });
    const receiver = await openReceiver();
    closedAfterTest(receiver);
    await service.webhook(receiver.url, ['api_key.expired']);
    service.workers().start();
    service.workers().start();
    await vi.waitFor(() => expect(receiver.posts).toHaveLength(1), { timeout: 15_000, interval: 50 });
    expect(receiver.posts[0]?.json).toMatchObject({ type: 'api_key.expired', data: { api_key_id: ending } });
    await updateKey(service.context, origin(), {
      by: 'operator',
      keyId: ending,
      loadKeyCache,
      leavesOutRequester: false,
      changes: { expiresAt: new Date(service.system.now().getTime() + SOON_MS).toISOString() },
    });
    await vi.waitFor(() => expect(receiver.posts).toHaveLength(2), { timeout: 15_000, interval: 50 });
    expect(await typesOf(ending)).toEqual(['KeyCreated', 'KeyExpired', 'KeyUpdated', 'KeyExpired']);
    expect(await typesOf(removed)).toEqual(['KeyCreated', 'KeyDeleted']);
    for (const keyId of [lasting, other]) expect(await typesOf(keyId)).toEqual(['KeyCreated']);
  });
});
