import { describe, expect, test } from 'vitest';
import { evaluateReputation, releaseSending } from '../../../src/commands/reputation.ts';
import { messageStream, reputationStream, sendingDomainStream } from '../../../src/domain/kernel/streams.ts';
import type { ReputationLimits } from '../../../src/domain/reputation/reputation.ts';
import { createSendingHolds, type PageOfCounts } from '../../../src/workers/reputation.ts';
import { contextAt } from '../../support/specification.ts';
import { openDelivering, statuses, until } from '../delivering.ts';
import type { Service } from '../service.ts';
import { createShiftableSystem } from '../shiftable-system.ts';

const ANN = 'ann@example.org';
const BULK = { stream: 'bulk' } as const;
const LIMITS: ReputationLimits = { bounces: [2, 4, 5], complaints: [0.08, 0.2, 0.3] };

const bad = (percent: number) => ({
  releasedAt: null,
  delivered: 10_000 - percent * 100,
  bounced: percent * 100,
  complained: 0,
});

const judge = (service: Service, percent: number): Promise<void> =>
  evaluateReputation(service.dependencies, {
    domainId: 'dom_1',
    organizationId: service.organizationId,
    counts: bad(percent),
    limits: LIMITS,
  });

const release = ({ dependencies, organizationId }: Service, domainId: string | null = 'dom_1'): Promise<boolean> =>
  releaseSending(
    dependencies,
    {
      actor: 'key:key_1',
      organizationId,
      environment: 'live',
      requestId: null,
      correlationId: 'test',
      causationId: 'test',
    },
    domainId,
  );

const reputationOf = async ({ dependencies: { store } }: Service, domainId = 'dom_1'): Promise<readonly string[]> =>
  (await store.readStream(reputationStream(domainId))).map(({ type }) => type);

describe('a domain whose bulk mail is paused', () => {
  test('sends transactional mail but no bulk mail, which waits without attempts and is sent at once when released', async () => {
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
    expect(await release(service)).toBe(true);
    expect(await release(service)).toBe(false);
    const next = await service.send(ANN, 'live', 'News', BULK);
    await until(async () => {
      expect(await statuses(service, next)).toEqual(['delivered']);
      expect(await statuses(service, bulk)).toEqual(['delivered']);
    });
    expect(await service.history(bulk)).toEqual([
      'MessageAccepted',
      'RecipientsHeld',
      'AttemptStarted',
      'RecipientDelivered',
    ]);
    expect(service.sink.mails).toHaveLength(3);
  });

  test('and that is then deleted has its held mail cancelled at once', async () => {
    const service = await openDelivering();
    await judge(service, 6);
    const bulk = await service.send(ANN, 'live', 'News', BULK);
    service.workers().start();
    await until(async () => expect((await service.message(bulk)).recipients[0]?.held).not.toBeNull());
    const { store, system } = service.dependencies;
    await store.append({
      stream: sendingDomainStream('dom_1'),
      expected: 'no-stream',
      context: contextAt(system.now().toISOString()),
      events: [{ id: system.uuid(), type: 'DomainDeleted', data: { domainId: 'dom_1', name: 'example.test' } }],
    });
    await until(async () => expect(await statuses(service, bulk)).toEqual(['cancelled']));
    expect((await service.history(bulk)).at(-1)).toBe('RecipientCancelled');
    expect(service.sink.mails).toEqual([]);
  });
});

describe('an organization whose bulk mail is paused', () => {
  test('sends no bulk mail from its domains until both it and the domain are released', async () => {
    const service = await openDelivering();
    const { dependencies, organizationId } = service;
    const all = { domainId: null, organizationId, counts: bad(6), limits: LIMITS };
    await evaluateReputation(dependencies, all);
    const [bulk, own] = [await service.send(ANN, 'live', 'News', BULK), await service.send(ANN)];
    service.workers().start();
    const held = async () => (await service.message(bulk)).recipients[0]?.held;
    await until(async () => {
      expect(await held()).toMatchObject({ reason: 'organization_paused', heldBy: organizationId });
      expect(await statuses(service, own)).toEqual(['delivered']);
    });
    await judge(service, 6);
    expect(await release(service, null)).toBe(true);
    await until(async () => expect(await held()).toMatchObject({ reason: 'domain_paused', heldBy: 'dom_1' }));
    expect(await release(service)).toBe(true);
    await until(async () => expect(await statuses(service, bulk)).toEqual(['delivered']));
    expect(await reputationOf(service, organizationId)).toEqual([
      'OrganizationSendingPaused',
      'OrganizationSendingReleased',
    ]);
  });
});

describe('a domain whose bulk mail is slowed down', () => {
  test('sends its mail one message at a time, held mail first', async () => {
    const service = await openDelivering();
    await judge(service, 6);
    const first = await service.send(ANN, 'live', 'News', BULK);
    service.workers().start();
    await until(async () => expect((await service.message(first)).recipients[0]?.held).not.toBeNull());
    await judge(service, 3.9);
    expect(await reputationOf(service)).toEqual(['SendingPaused', 'SendingSlowed']);
    const ids = [first];
    for (let number = 0; number < 3; number += 1) ids.push(await service.send(ANN, 'live', 'News', BULK));
    await until(async () => {
      for (const id of ids) expect(await statuses(service, id)).toEqual(['delivered']);
    });
    const left = await Promise.all(
      ids.map(async (id) => {
        const history = await service.dependencies.store.readStream(messageStream(id));
        return Date.parse(history.find(({ type }) => type === 'AttemptStarted')?.metadata.occurredAt ?? '');
      }),
    );
    const gaps = left
      .toSorted((one, other) => one - other)
      .flatMap((at, index, all) => all.slice(index + 1, index + 2).map((next) => next - at));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
  });
});

describe('senders', () => {
  test('are evaluated page by page, each once, by any number of processes', async () => {
    const service = await openDelivering();
    const BAD = ['dom_0749', 'org_mine'];
    const ids = [...Array.from({ length: 750 }, (_, index) => `dom_${String(index).padStart(4, '0')}`), 'org_mine'];
    const counts: PageOfCounts = async ({ after, limit }) =>
      ids
        .filter((id) => id > after)
        .slice(0, limit)
        .map((senderId) => ({ senderId, organizationId: 'org_mine', ...bad(BAD.includes(senderId) ? 6 : 1) }));
    const senders = { counts, limits: LIMITS };
    service.workers({ senders }).start();
    service.workers({ senders }).start();
    await until(async () => expect(await reputationOf(service, 'dom_0749')).toEqual(['SendingPaused']));
    expect(await reputationOf(service, 'dom_0000')).toEqual([]);
    await until(async () => expect(await reputationOf(service, 'org_mine')).toEqual(['OrganizationSendingPaused']));
    const [event] = await service.dependencies.store.readStream(reputationStream('dom_0749'));
    expect(event?.metadata).toMatchObject({ actor: 'worker:judge-senders', environment: 'live' });
  });

  test('are not paused again because of counts from before their release', async () => {
    const service = await openDelivering();
    await judge(service, 6);
    await release(service);
    await judge(service, 6);
    expect(await reputationOf(service)).toEqual(['SendingPaused', 'SendingReleased']);
  });
});

describe('a sending hold', () => {
  const messageOf = (held: boolean) =>
    ({
      environment: 'live',
      organizationId: 'org_1',
      accepted: { domainId: 'dom_1', stream: 'bulk' },
      recipients: [{ held: held ? { reason: 'domain_slowed' } : null }],
    }) as unknown as Parameters<ReturnType<typeof createSendingHolds>['of']>[0]; // only the fields that are read
  const [fresh, waiting] = [messageOf(false), messageOf(true)];

  const holdsAt = (type: 'SendingSlowed' | 'SendingPaused') => {
    const system = createShiftableSystem();
    const at = { ms: Date.parse('2026-11-22T12:00:00.000Z') };
    const holds = createSendingHolds({ ...system, now: () => new Date(at.ms) });
    const found = { measure: 'bounces', count: 40, of: 1000, limitPercent: 4 };
    const recorded = { id: 'e', position: '1', revision: 0, metadata: contextAt('2026-11-22T11:00:00.000Z') };
    const happens = (event: { readonly type: string; readonly data: object }): void =>
      holds.apply({ ...recorded, stream: reputationStream('dom_1'), ...event } as never); // as stored
    happens({ type, data: { domainId: 'dom_1', ...found } });
    const toAll = (all: string): void => happens({ type: all, data: { organizationId: 'org_1', ...found } });
    return { holds, at, toAll };
  };

  test('of a paused sender is retried once a day, with jitter', () => {
    const { holds } = holdsAt('SendingPaused');
    const waits = Array.from({ length: 100 }, () => (holds.of(waiting)?.waitSeconds ?? 0) / 3600);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(21.6);
    expect(Math.max(...waits)).toBeLessThanOrEqual(26.4);
    expect(new Set(waits).size).toBeGreaterThan(50);
    expect(holds.of(waiting)).toMatchObject({ reason: 'domain_paused', heldBy: 'dom_1' });
  });

  test('of a slowed sender passes one waiting message per second', () => {
    const { holds, at } = holdsAt('SendingSlowed');
    expect(holds.of(fresh)).toMatchObject({ reason: 'domain_slowed', heldBy: 'dom_1' });
    expect([holds.of(waiting), holds.of(waiting)]).toMatchObject([null, { reason: 'domain_slowed' }]);
    at.ms += 999;
    expect(holds.of(waiting)).not.toBeNull();
    at.ms += 1;
    expect([holds.of(fresh), holds.of(waiting), holds.of(waiting)]).toMatchObject([{}, null, {}]);
  });

  test('lasts while the domain or the organization is paused, and passes when both let a message pass', () => {
    const { holds, at, toAll } = holdsAt('SendingSlowed');
    toAll('OrganizationSendingPaused');
    expect(holds.of(waiting)).toMatchObject({ reason: 'organization_paused', heldBy: 'org_1' });
    toAll('OrganizationSendingSlowed');
    expect([holds.of(waiting), holds.of(waiting)]).toMatchObject([null, { reason: 'domain_slowed', heldBy: 'dom_1' }]);
    at.ms += 1_000;
    const other = { ...waiting, accepted: { ...waiting.accepted, domainId: 'dom_2' } };
    expect([holds.of(other), holds.of(waiting)]).toMatchObject([null, { reason: 'domain_slowed' }]);
    toAll('OrganizationSendingReleased');
    expect(holds.of(waiting)).toBeNull();
  });
});
