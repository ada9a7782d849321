import { expect, test, vi } from 'vitest';
import { checkDomainWhenDue } from '../../../src/commands/sending-domain/check-domain.ts';
import { lifeOf } from '../../../src/domain/sending-domain/sending-domain.ts';
import { openZoneWorld, zoneOf } from '../../commands/sending-domain/zone-world.ts';
import { openService } from '../service.ts';

test('a domain whose records are published is verified by the workers without a request', async () => {
  const world = await openZoneWorld();
  const service = await openService({ store: world.context.store });
  const domain = await world.register('org_a', 'example.test');
  world.server.change(zoneOf(domain));
  service.system.shift(120_000);
  const checkDomain = (domainId: string) => checkDomainWhenDue(world.context, domainId);
  service.workers({ checkDomain }).start();
  await vi.waitFor(async () => expect(lifeOf(await world.current(domain), false)).toBe('verified'), {
    timeout: 20_000,
    interval: 100,
  });
  const events = await world.context.store.readStream(`domain-${domain.domainId}`);
  expect(events[1]).toMatchObject({ type: 'DomainVerified', metadata: { actor: 'worker:check-domains' } });
  expect(service.fatal).toEqual([]);
  await service.close();
  await world.close();
});
