import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { eventContext } from '../../../src/commands/execute.ts';
import {
  activeSigningKeys,
  destroyFormerKeys,
  rotateDkim,
} from '../../../src/commands/sending-domain/change-domain.ts';
import type { ExistingSendingDomain } from '../../../src/domain/sending-domain/sending-domain.ts';
import { openZoneWorld, originOf, type ZoneWorld, zoneOf } from '../../commands/sending-domain/zone-world.ts';
import { openService, type Service } from '../service.ts';

const DAY_MS = 86_400_000;

let world: ZoneWorld;
let service: Service;
beforeEach(async () => {
  world = await openZoneWorld();
  service = await openService({ store: world.context.store });
});
afterEach(async () => {
  await service.close();
  await world.close();
});

const secretIds = ({ dkim: { active, pending } }: ExistingSendingDomain) =>
  [active, pending].flatMap((pair) => pair?.keys ?? []).map(({ secretId }) => secretId);
const known = async (ids: readonly string[]): Promise<number> =>
  (await Promise.all(ids.map((id) => world.context.secrets.get(id)))).filter((secret) => secret !== undefined).length;
const typesOf = async ({ domainId }: ExistingSendingDomain) =>
  (await world.context.store.readStream(`domain-${domainId}`)).map(({ type }) => type);

/** A domain that signs with its second pair of keys. @returns vault ids of the first pair. */
const rotated = async () => {
  const pending = await world.register('org_a', 'example.test');
  world.server.change(zoneOf(pending));
  const { domain } = await world.verify(pending);
  await rotateDkim(world.context, originOf('org_a'), { domainId: domain.domainId });
  world.server.change(zoneOf(await world.current(domain)));
  await world.verify(domain);
  return { domain: await world.current(domain), former: secretIds(domain) };
};

const start = (days: number): void => {
  for (const { shift } of [world.system, service.system]) shift(days * DAY_MS);
  const { secrets } = world.context;
  const { sleep } = service.system;
  const system = { ...service.system, sleep: (ms: number, signal?: AbortSignal) => sleep(Math.min(ms, 100), signal) };
  for (let process = 0; process < 2; process += 1) service.workers({ secrets, system }).start();
};

test('the keys before a rotation are destroyed once, when their records are no longer needed', async () => {
  const { domain, former } = await rotated();
  await destroyFormerKeys(world.context, domain.domainId);
  expect(await known(former)).toBe(2);
  expect(await typesOf(domain)).not.toContain('DkimKeysDestroyed');
  start(7.01);
  await vi.waitFor(async () => expect(await typesOf(domain)).toContain('DkimKeysDestroyed'), { timeout: 15_000 });
  expect(await known(former)).toBe(0);
  expect(await activeSigningKeys(await world.current(domain), world.context.secrets)).toHaveLength(2);
  await destroyFormerKeys(world.context, domain.domainId);
  expect((await typesOf(domain)).filter((type) => type === 'DkimKeysDestroyed')).toHaveLength(1);
});

test('all keys of a deleted domain are destroyed', async () => {
  const { domain, former } = await rotated();
  const { store } = world.context;
  const stream = `domain-${domain.domainId}` as const;
  const [last] = await store.readStream(stream, { direction: 'backwards', limit: 1 });
  const { domainId, name } = domain;
  await store.append({
    stream,
    expected: last?.revision ?? 0,
    context: eventContext(originOf('org_a'), world.system.now().toISOString()),
    events: [{ id: world.system.uuid(), type: 'DomainDeleted', data: { domainId, name } }],
  });
  const all = [...former, ...secretIds(domain)];
  expect(await known(all)).toBe(4);
  start(7.01);
  await vi.waitFor(async () => expect(await known(all)).toBe(0), { timeout: 15_000 });
});

test('an unrecorded destruction is repeated', async () => {
  const { domain, former } = await rotated();
  world.system.shift(8 * DAY_MS);
  const { store } = world.context;
  const dying = { ...store, append: () => Promise.reject(new Error('the process died')) };
  await expect(destroyFormerKeys({ ...world.context, store: dying }, domain.domainId)).rejects.toThrow('died');
  expect(await known(former)).toBe(0);
  expect(await typesOf(domain)).not.toContain('DkimKeysDestroyed');
  await Promise.all([1, 2, 3].map(() => destroyFormerKeys(world.context, domain.domainId)));
  expect((await typesOf(domain)).filter((type) => type === 'DkimKeysDestroyed')).toHaveLength(1);
  expect(await activeSigningKeys(await world.current(domain), world.context.secrets)).toHaveLength(2);
});

test('nothing is recorded that the vault has not destroyed', async () => {
  const { domain, former } = await rotated();
  world.system.shift(8 * DAY_MS);
  const secrets = { ...world.context.secrets, destroy: () => Promise.reject(new Error('the vault is away')) };
  await expect(destroyFormerKeys({ ...world.context, secrets }, domain.domainId)).rejects.toThrow('away');
  expect(await known(former)).toBe(2);
  expect(await typesOf(domain)).not.toContain('DkimKeysDestroyed');
});
