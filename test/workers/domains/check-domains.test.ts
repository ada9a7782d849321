import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import type { DkimKey } from '../../../src/domain/sending-domain/events.ts';
import { checkDomains, createCheckSchedule } from '../../../src/workers/domains/check-domains.ts';
import { supervise } from '../../../src/workers/supervise.ts';
import { silentLogger } from '../../support/logger.ts';
import { contextAt, recordedAs } from '../../support/specification.ts';
import { createSteppableSystem } from '../../support/system.ts';

const START = '2026-01-01T00:00:00.000Z';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const KEY: DkimKey = { selector: 'r1', algorithm: 'rsa-sha256', publicKey: 'R1', secretId: 's1' };

interface Looks {
  readonly domainId: string;
  readonly minute: number;
}

const open = (checkDomain?: (domainId: string) => Promise<void>) => {
  const system = createSteppableSystem({ start: START });
  const checkSchedule = createCheckSchedule();
  const looks: Looks[] = [];
  const leadership = { isLeader: true };
  let revision = 0;
  const tell = (domainId: string, event: SendingDomainEvent, organizationId = 'org_mine'): void => {
    revision += 1;
    const place = { stream: `domain-${domainId}`, revision } as const;
    const context = { ...contextAt(system.now().toISOString()), organizationId };
    checkSchedule.apply(recordedAs(event, place, context) as RecordedEvent);
  };
  const data = (domainId: string) => ({ domainId, name: `${domainId}.test` });
  const start = (look: ((domainId: string) => Promise<void>) | null = async () => {}) => {
    const work = checkDomains({
      checkSchedule,
      system,
      caughtUp: Promise.resolve(),
      leadership: { isLeader: () => leadership.isLeader },
      ...(look === null
        ? {}
        : {
            checkDomain: async (domainId: string) => {
              looks.push({ domainId, minute: (system.now().getTime() - Date.parse(START)) / MINUTE_MS });
              await (checkDomain ?? look)(domainId);
            },
          }),
    });
    return supervise({ system, logger: silentLogger, onFatal: () => undefined }, 'the checks of domains', work);
  };
  return {
    system,
    looks,
    leadership,
    start,
    register: (id: string, organizationId?: string) =>
      tell(id, { type: 'DomainRegistered', data: { ...data(id), token: 't', dkim: [KEY] } }, organizationId),
    verify: (id: string) => {
      tell(id, { type: 'DomainVerified', data: { ...data(id), method: 'dns' } });
      const activated = { domainId: id, selectors: [KEY.selector], safeToRemoveAt: null };
      tell(id, { type: 'DkimKeysActivated', data: activated });
    },
    remove: (id: string) => tell(id, { type: 'DomainDeleted', data: data(id) }),
    /** Minutes at which a domain was checked, rounded down. */
    minutesOf: (id: string) => looks.flatMap(({ domainId, minute }) => (domainId === id ? [Math.floor(minute)] : [])),
  };
};

/** A round yields between its checks: this gives each check the turns of the event loop that it needs. */
const advanceByTurns = async (system: ReturnType<typeof createSteppableSystem>, ms: number): Promise<void> => {
  for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 1_000) {
    await system.advance(1_000);
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  }
};

describe('domain checks', () => {
  test('are early and frequent while a domain is pending, and rare once it is verified', async () => {
    const { system, start, register, verify, minutesOf } = open();
    const loop = start();
    register('dom_a');
    await system.advance(100 * MINUTE_MS);
    expect(minutesOf('dom_a')).toEqual([1, 3, 8, 23, 83]);
    verify('dom_a');
    await system.advance(24 * HOUR_MS);
    expect(minutesOf('dom_a')).toHaveLength(5 + 4);
    await loop.stop();
  });

  test('of organizations take turns: many of one, with slow name servers, do not delay those of another', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const { system, start, register, looks } = open((id) => (id.startsWith('dom_slow') ? ended : Promise.resolve()));
    for (let count = 0; count < 200; count += 1) register(`dom_slow${count}`, 'org_many');
    register('dom_other', 'org_other');
    await system.advance(5 * MINUTE_MS);
    const loop = start();
    await system.advance(MINUTE_MS);
    await expect.poll(() => looks.map(({ domainId }) => domainId)).toContain('dom_other');
    expect(looks.length).toBeLessThan(20);
    end();
    await loop.stop();
  });

  test('end when the domain is deleted', async () => {
    const { system, start, register, remove, minutesOf } = open();
    const loop = start();
    register('dom_a');
    await system.advance(2 * MINUTE_MS);
    remove('dom_a');
    await system.advance(HOUR_MS);
    expect(minutesOf('dom_a')).toEqual([1]);
    await loop.stop();
  });

  test('are made only by the leader, including those due right after leadership changes', async () => {
    const { system, start, register, minutesOf, leadership } = open();
    leadership.isLeader = false;
    const loop = start();
    register('dom_a');
    await system.advance(5 * MINUTE_MS);
    expect(minutesOf('dom_a')).toEqual([]);
    leadership.isLeader = true;
    await system.advance(5 * MINUTE_MS);
    expect(minutesOf('dom_a')).toEqual([8]);
    await loop.stop();
  });

  test('on start include those that were due in the last hour', async () => {
    const { system, start, register, minutesOf } = open();
    register('dom_a');
    await system.advance(30 * MINUTE_MS);
    const loop = start();
    await system.advance(MINUTE_MS);
    expect(minutesOf('dom_a')).toEqual([30]);
    await loop.stop();
  });

  test('that fail delay no others, and are repeated', async () => {
    const { system, start, register, minutesOf } = open(async (domainId) => {
      if (domainId === 'dom_a') throw new Error('the vault is away');
    });
    const loop = start();
    for (const id of ['dom_a', 'dom_b', 'dom_c']) register(id);
    await advanceByTurns(system, 6 * MINUTE_MS);
    expect(minutesOf('dom_b')).toEqual([1, 3]);
    expect(minutesOf('dom_c')).toEqual([1, 3]);
    expect(minutesOf('dom_a').length).toBeGreaterThanOrEqual(4);
    expect(minutesOf('dom_a').length).toBeLessThanOrEqual(6);
    await loop.stop();
  });

  test('run at most eight at a time', async () => {
    let [now, most] = [0, 0];
    const world = open();
    const loop = world.start(async () => {
      now += 1;
      most = Math.max(most, now);
      await world.system.sleep(1000);
      now -= 1;
    });
    for (let index = 0; index < 300; index += 1) world.register(`dom_${index}`);
    await advanceByTurns(world.system, 3 * MINUTE_MS - 1000);
    expect(new Set(world.looks.map(({ domainId }) => domainId)).size).toBe(300);
    expect(world.looks).toHaveLength(300);
    expect(most).toBe(8);
    const stopped = loop.stop();
    await world.system.advance(5000);
    await stopped;
  });

  test('are not made while mail is captured', async () => {
    const { system, start, register, looks } = open();
    const loop = start(null);
    register('dom_a');
    await system.advance(HOUR_MS);
    expect(looks).toEqual([]);
    await loop.stop();
  });
});
