import { describe, expect, test } from 'vitest';
import { judgeSending } from '../../../src/commands/standing/judge-sending.ts';
import { releaseSending } from '../../../src/commands/standing/release-sending.ts';
import type { SendingLimits } from '../../../src/domain/standing/sending-limits.ts';
import { standingStream } from '../../../src/domain/standing/standing.ts';
import type { PageOfCounts } from '../../../src/workers/standings/judge-senders.ts';
import { createSendingHolds } from '../../../src/workers/standings/sending-holds.ts';
import { contextAt } from '../../support/specification.ts';
import { openDelivering, statuses, until } from '../delivering.ts';
import type { Service } from '../service.ts';
import { createShiftableSystem } from '../shiftable-system.ts';

const ANN = 'ann@example.org';
const BULK = { stream: 'bulk' } as const;
const HOUR_MS = 3_600_000;
const LIMITS: SendingLimits = { bounces: [2, 4, 5], complaints: [0.08, 0.2, 0.3] };

const bad = (percent: number) => ({
  ...{ releasedAt: null, delivered: 10_000 - percent * 100, bounced: percent * 100, complained: 0 },
});

const judge = (service: Service, percent: number): Promise<void> =>
  judgeSending(service.dependencies, {
    ...{ domainId: 'dom_1', organizationId: service.organizationId, counts: bad(percent), limits: LIMITS },
  });

const release = ({ dependencies, organizationId }: Service): Promise<boolean> =>
  releaseSending(
    dependencies,
    {
      ...{ actor: 'key:key_1', organizationId, environment: 'live', requestId: null },
      ...{ correlationId: 'test', causationId: 'test' },
    },
    'dom_1',
  );

const standingOf = async ({ dependencies: { store } }: Service, domainId = 'dom_1'): Promise<readonly string[]> =>
  (await store.readStream(standingStream(domainId))).map(({ type }) => type);

describe('a domain whose bulk mail is paused', () => {
  test('sends transactional mail and none of the bulk, which is attempted by nobody and goes on after a release', async () => {
    const service = await openDelivering();
    await judge(service, 6);
    const [bulk, own] = [await service.send(ANN, 'live', 'News', BULK), await service.send(ANN)];
    const inTest = await service.send('delivered@sandbox.outbox.test', 'test', 'News', BULK);
    service.workers().start();
    await until(async () => {
      expect(await statuses(service, own)).toEqual(['delivered']);
      expect((await service.message(bulk)).recipients[0]?.held).not.toBeNull();
      expect(await statuses(service, inTest)).toEqual(['delivered']);
    });
    expect(await service.history(bulk)).toEqual(['MessageAccepted', 'RecipientsHeld']);
    const { recipients, attempts } = await service.message(bulk);
    expect(attempts).toBe(0);
    expect(recipients[0]).toMatchObject({ status: 'accepted', attempts: 0, smtp: null, reason: null });
    expect(recipients[0]?.held).toMatchObject({ reason: 'domain_paused', heldBy: 'dom_1' });
    const waitMinutes = (Date.parse(recipients[0]?.held?.until ?? '') - service.system.now().getTime()) / 60_000;
    expect(waitMinutes).toBeGreaterThan(12);
    expect(waitMinutes).toBeLessThan(17);
    expect(await release(service)).toBe(true);
    expect(await release(service)).toBe(false);
    const next = await service.send(ANN, 'live', 'News', BULK);
    await until(async () => expect(await statuses(service, next)).toEqual(['delivered']));
    expect(await statuses(service, bulk)).toEqual(['accepted']);
    service.system.shift(HOUR_MS);
    await until(async () => expect(await statuses(service, bulk)).toEqual(['delivered']));
    expect(service.sink.mails).toHaveLength(3);
  }, 30_000);
});

describe('a domain whose bulk mail is slowed down', () => {
  test('sends some at once, and gives each of the others a moment of its own', async () => {
    const service = await openDelivering();
    await judge(service, 4);
    const ids: string[] = [];
    for (let number = 0; number < 5; number += 1) ids.push(await service.send(ANN, 'live', 'News', BULK));
    service.workers().start();
    await until(async () => {
      const all = (await Promise.all(ids.map((id) => service.message(id)))).flatMap(({ recipients }) => recipients);
      expect(all.filter(({ status, held }) => status === 'delivered' || held !== null)).toHaveLength(5);
    });
    const after = await Promise.all(ids.map(async (id) => (await service.message(id)).recipients[0]?.held?.until));
    const waiting = after.filter((at) => typeof at === 'string');
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.length).toBeLessThan(5);
    expect(new Set(waiting).size).toBe(waiting.length);
  }, 30_000);
});

describe('senders', () => {
  test('are judged page by page, each once, however many processes do it', async () => {
    const service = await openDelivering();
    const ids = Array.from({ length: 750 }, (_, index) => `dom_${String(index).padStart(4, '0')}`);
    const counts: PageOfCounts = async ({ after, limit }) =>
      ids
        .filter((id) => id > after)
        .slice(0, limit)
        .map((domainId) => ({ domainId, organizationId: 'org_mine', ...bad(domainId === 'dom_0749' ? 6 : 1) }));
    const senders = { counts, limits: LIMITS };
    service.workers({ senders }).start();
    service.workers({ senders }).start();
    await until(async () => expect(await standingOf(service, 'dom_0749')).toEqual(['SendingPaused']));
    expect(await standingOf(service, 'dom_0000')).toEqual([]);
    const [event] = await service.dependencies.store.readStream(standingStream('dom_0749'));
    expect(event?.metadata).toMatchObject({ actor: 'worker:judge-senders', environment: 'live' });
  }, 30_000);

  test('are not paused again by what was counted before they were released', async () => {
    const service = await openDelivering();
    await judge(service, 6);
    await release(service);
    await judge(service, 6);
    expect(await standingOf(service)).toEqual(['SendingPaused', 'SendingReleased']);
  });
});

describe('what has to wait', () => {
  const message = { environment: 'live', accepted: { domainId: 'dom_1', stream: 'bulk' } } as Parameters<
    ReturnType<typeof createSendingHolds>['of']
  >[0];

  test('is looked at more seldom the longer its domain is paused, every four hours at least', async () => {
    const service = await openDelivering();
    await judge(service, 6);
    const system = createShiftableSystem();
    const holds = createSendingHolds(system);
    for (const event of await service.dependencies.store.readStream(standingStream('dom_1'))) holds.apply(event);
    const hours = (): number => (holds.of(message)?.waitSeconds ?? 0) / 3600;
    expect(hours()).toBeCloseTo(0.25, 1);
    system.shift(2 * HOUR_MS);
    expect(Math.round(hours())).toBe(2);
    system.shift(100 * HOUR_MS);
    expect(hours()).toBeGreaterThanOrEqual(3.6);
    expect(hours()).toBeLessThanOrEqual(4.4);
  });

  test('passes one a second where it is slowed, and comes back within four hours, however much there is', () => {
    const system = createShiftableSystem();
    const holds = createSendingHolds({ ...system, now: () => new Date('2026-11-22T12:00:00.000Z') });
    const data = { domainId: 'dom_1', measure: 'bounces', count: 40, of: 1000, limitPercent: 4 } as const;
    const recorded = { ...{ id: 'e', position: '1', revision: 0, stream: standingStream('dom_1') }, data };
    holds.apply({ ...recorded, type: 'SendingSlowed', metadata: contextAt('2026-11-22T11:00:00.000Z') } as never); // as stored
    const waits = Array.from({ length: 20_000 }, () => holds.of(message)?.waitSeconds ?? 0);
    expect(waits.slice(0, 4)).toEqual([0, 60, 61, 62]);
    expect(Math.max(...waits)).toBeLessThanOrEqual(4 * 3600);
    expect(waits.filter((wait) => wait === 0)).toHaveLength(1);
  });
});
