import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nameHolder } from '../../../src/commands/sending-domain/check-domain.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import { type ExistingSendingDomain, lifeOf } from '../../../src/domain/sending-domain/sending-domain.ts';
import type { NameData } from '../../support/dns-zone.ts';
import { openZoneWorld, type ZoneWorld, zoneOf } from './zone-world.ts';

const NAME = 'shared.example.test';
const HOUR_MS = 3_600_000;

let world: ZoneWorld;
beforeEach(async () => {
  world = await openZoneWorld();
});
afterEach(() => world.close());

/** A zone that proves the name for each of the domains. */
const shared = (...domains: readonly ExistingSendingDomain[]): Record<string, NameData> => {
  const zone: Record<string, NameData> = {};
  for (const domain of domains) {
    for (const [host, data] of Object.entries(zoneOf(domain))) {
      const before = zone[host]?.TXT ?? [];
      zone[host] = host.startsWith('_outbox.') ? { TXT: [...before, ...(data.TXT ?? [])] } : data;
    }
  }
  return zone;
};

const pair = async () => [await world.register('org_a', NAME), await world.register('org_b', NAME)] as const;
const holder = async () => (await nameHolder(world.context.store, NAME)).holder.state;
const life = async (domain: ExistingSendingDomain) => lifeOf(await world.current(domain), false);

describe('a name registered by two organizations', () => {
  test('belongs to the first that proves it, and the other is notified and cannot register it again', async () => {
    const [mine, theirs] = await pair();
    world.server.change(shared(mine, theirs));
    await world.verify(mine);
    await expect(world.verify(theirs)).rejects.toMatchObject({ code: 'domain_already_exists' });
    expect([await life(mine), await life(theirs)]).toEqual(['verified', 'pending']);
    await expect(world.register('org_c', NAME)).rejects.toMatchObject({ code: 'domain_already_exists' });
    // The periodic check gets the same conflict and continues.
    expect(lifeOf(await world.checkWhenDue(theirs), false)).toBe('pending');
  });

  test('never belongs to both, whatever the order of events', async () => {
    const [mine, theirs] = await pair();
    world.server.change(shared(mine, theirs));
    const results = await Promise.allSettled([mine, theirs, mine, theirs].map((domain) => world.verify(domain)));
    const lives = [await life(mine), await life(theirs)];
    expect(lives.toSorted()).toEqual(['pending', 'verified']);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(DomainError);
  });

  test('passes to the other when the first fails and does not recover', async () => {
    const [mine, theirs] = await pair();
    world.server.change(shared(mine, theirs));
    await world.verify(mine);
    world.server.change(shared(theirs));
    await world.checkWhenDue(mine);
    expect(await life(mine)).toBe('degraded');
    await expect(world.verify(theirs)).rejects.toMatchObject({ code: 'domain_already_exists' });
    world.system.shift(73 * HOUR_MS);
    await world.checkWhenDue(mine);
    expect([await life(mine), (await holder()).status]).toEqual(['failed', 'free']);
    await world.verify(theirs);
    expect(await holder()).toMatchObject({ domainId: theirs.domainId });
    world.server.change(shared(mine, theirs));
    await expect(world.verify(mine)).rejects.toMatchObject({ code: 'domain_already_exists' });
    expect([await life(mine), await life(theirs)]).toEqual(['failed', 'verified']);
  });

  test('that failed is free for its former holder too, and belongs to only one when both return at once', async () => {
    const [mine, theirs] = await pair();
    world.server.change(shared(mine));
    await world.verify(mine);
    world.server.change(shared(theirs));
    await world.checkWhenDue(mine);
    world.system.shift(73 * HOUR_MS);
    await world.checkWhenDue(mine);
    world.server.change(shared(mine, theirs));
    await Promise.allSettled([mine, theirs].map((domain) => world.verify(domain)));
    expect([await life(mine), await life(theirs)].filter((each) => each === 'verified')).toHaveLength(1);
  });
});
