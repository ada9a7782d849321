import { describe, expect, test } from 'vitest';
import { load, type Origin } from '../../../src/commands/execute.ts';
import { endWarmUp, startWarmUp } from '../../../src/commands/warm-up.ts';
import { dailyQuotaStream } from '../../../src/domain/kernel/streams.ts';
import { dailyQuota, dayOf, startOf } from '../../../src/domain/warm-up/warm-up.ts';
import { openDelivering, statuses, until } from '../delivering.ts';
import type { Service } from '../service.ts';
import type { SmtpSinkOptions } from '../smtp-sink.ts';

const BULK = { stream: 'bulk' } as const;
const DAY_MS = 86_400_000;

const originOf = ({ organizationId }: Service): Origin => ({
  actor: 'key:key_1',
  organizationId,
  environment: 'live',
  requestId: null,
  correlationId: 'test',
  causationId: 'test',
});

/** Starts at noon, so that no test runs past midnight. */
const openAtNoon = async (options: SmtpSinkOptions = {}) => {
  const service = await openDelivering(options);
  const { system } = service;
  system.shift(startOf(dayOf(system.now())) + 1.5 * DAY_MS - system.now().getTime());
  return service;
};

const plan = (service: Service, caps: readonly number[]) =>
  startWarmUp(service.dependencies, originOf(service), { domainId: 'dom_1', caps });

const takenOf = async ({ dependencies: { store }, system }: Service, provider: string): Promise<number> => {
  const { state } = await load(store, dailyQuota, dailyQuotaStream('dom_1', dayOf(system.now())));
  return state.taken.get(provider) ?? 0;
};

const sendMany = async (service: Service, count: number, to = 'example.org') => {
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) {
    ids.push(await service.send(`p${number}@${to}`, 'live', 'News', BULK));
  }
  return ids;
};

const all = async (service: Service, ids: readonly string[]): Promise<readonly string[]> => {
  const messages = await Promise.all(ids.map((id) => service.message(id)));
  return messages.flatMap(({ recipients }) => recipients.map(({ status, held }) => (held === null ? status : 'held')));
};

const settled = (service: Service, ids: readonly string[], expected: Readonly<Record<string, number>>) =>
  until(async () => {
    const found = Object.groupBy(await all(service, ids), (status) => status);
    expect(Object.fromEntries(Object.entries(found).map(([status, some]) => [status, some?.length]))).toEqual(expected);
  });

describe('a domain in warm-up', () => {
  test('sends its daily quota to each destination, with any number of processes; the rest waits for a slot tomorrow', async () => {
    const service = await openAtNoon();
    await plan(service, [5, 100]);
    const [here, there] = [await sendMany(service, 12), await sendMany(service, 3, 'example.net')];
    for (let process = 0; process < 3; process += 1) service.workers().start();
    await settled(service, here, { delivered: 5, held: 7 });
    await settled(service, there, { delivered: 3 });
    expect(await takenOf(service, 'example.org')).toBe(5);
    const tomorrow = dayOf(new Date(service.system.now().getTime() + DAY_MS));
    const waiting = (await Promise.all(here.map((id) => service.message(id)))).flatMap(({ recipients }) =>
      recipients.filter(({ held }) => held !== null),
    );
    for (const { held, status, attempts } of waiting) {
      expect(held?.until.slice(0, 10)).toBe(tomorrow);
      expect(held).toMatchObject({ reason: 'warm_up', heldBy: 'warmUp-dom_1' });
      expect({ status, attempts }).toEqual({ status: 'accepted', attempts: 0 });
    }
    service.system.shift(DAY_MS * 1.5);
    await settled(service, here, { delivered: 12 });
  });

  test('lets no mail expire while it waits for its slot', async () => {
    const service = await openAtNoon();
    await plan(service, [1, 1, 1, 1, 1, 1, 1]);
    const ids = await sendMany(service, 6);
    const brief = await service.send('brief@example.org', 'live', 'News', { ...BULK, ttlSeconds: 3_600 });
    service.workers().start();
    await settled(service, ids, { delivered: 1, held: 5 });
    for (let day = 2; day <= 9; day += 1) {
      service.system.shift(DAY_MS);
      await until(async () => {
        const waiting = await Promise.all(ids.map((id) => service.message(id)));
        const due = waiting.flatMap(({ recipients }) => recipients.flatMap(({ held }) => held?.until ?? []));
        expect(due.filter((at) => at <= service.system.now().toISOString())).toEqual([]);
        // Advancing the clock by a day ends attempts in flight.
        expect(await all(service, ids)).not.toContain('sending');
      });
    }
    await settled(service, ids, { delivered: 6 });
    expect(await statuses(service, brief)).toEqual(['expired']);
  });

  test('keeps its count across restarts', async () => {
    const service = await openAtNoon();
    await plan(service, [40]);
    const first = await sendMany(service, 30);
    const workers = service.workers();
    workers.start();
    await settled(service, first, { delivered: 30 });
    await workers.stop();
    const more = await sendMany(service, 30);
    service.workers().start();
    await until(async () =>
      expect(await all(service, more)).not.toContainEqual(expect.stringMatching(/accepted|sending/)),
    );
    const left = (await all(service, [...first, ...more])).filter((one) => one === 'delivered').length;
    expect(left).toBeLessThanOrEqual(40);
    // The quota that the process had reserved is lost for the day: a twentieth of the share at most.
    expect(left).toBeGreaterThanOrEqual(38);
  });

  test('counts transactional mail and never holds it', async () => {
    const service = await openAtNoon();
    await plan(service, [2]);
    const own: string[] = [];
    for (let number = 0; number < 4; number += 1) own.push(await service.send('ann@example.org'));
    service.workers().start();
    await settled(service, own, { delivered: 4 });
    expect(await takenOf(service, 'example.org')).toBe(4);
    const [bulk] = await sendMany(service, 1);
    await settled(service, [bulk ?? ''], { held: 1 });
  });

  test('holds nothing in the test environment, of other domains, or after its plan has ended', async () => {
    const service = await openAtNoon();
    await plan(service, [1]);
    const [first, second] = await sendMany(service, 2);
    const workers = service.workers();
    workers.start();
    await settled(service, [first ?? '', second ?? ''], { delivered: 1, held: 1 });
    const inTest = await service.send('delivered@sandbox.outbox.test', 'test', 'News', BULK);
    await settled(service, [inTest], { delivered: 1 });
    await endWarmUp(service.dependencies, originOf(service), 'dom_1');
    await until(async () => {
      const [next] = await sendMany(service, 1);
      await settled(service, [next ?? ''], { delivered: 1 });
    });
    await settled(service, [first ?? '', second ?? ''], { delivered: 2 });
    await plan(service, [1]);
    service.system.shift(DAY_MS * 2);
    await settled(service, await sendMany(service, 3), { delivered: 3 });
    expect(await takenOf(service, 'example.org')).toBe(0);
  });

  test('sends held mail sooner when its plan is replaced by a larger one, within its quota', async () => {
    const service = await openAtNoon();
    await plan(service, [2, 2, 2, 2]);
    const ids = await sendMany(service, 9);
    service.workers().start();
    await settled(service, ids, { delivered: 2, held: 7 });
    const events = async () => (await Promise.all(ids.map((id) => service.history(id)))).flat().length;
    await plan(service, [6, 7]);
    await settled(service, ids, { delivered: 6, held: 3 });
    expect(await takenOf(service, 'example.org')).toBe(6);
    const before = await events();
    const [more = ''] = await sendMany(service, 1);
    await settled(service, [more], { held: 1 });
    expect(await events()).toBe(before);
    service.system.shift(DAY_MS);
    await settled(service, ids, { delivered: 9 });
  });

  test('still holds mail when its plan is replaced by a smaller one', async () => {
    const service = await openAtNoon();
    await plan(service, [3, 3]);
    const ids = await sendMany(service, 5);
    service.workers().start();
    await settled(service, ids, { delivered: 3, held: 2 });
    await plan(service, [1, 1]);
    const [more = ''] = await sendMany(service, 1);
    await settled(service, [more], { held: 1 });
    await settled(service, ids, { delivered: 3, held: 2 });
  });

  test('counts domains of one mailbox provider together', async () => {
    const service = await openAtNoon();
    await plan(service, [4]);
    const ids = [...(await sendMany(service, 3, 'one.example')), ...(await sendMany(service, 3, 'two.example'))];
    const other = await sendMany(service, 2, 'else.example');
    const providerOf = async (domain: string) => (domain === 'else.example' ? 'else.test' : 'provider.test');
    for (const place of [0, 1]) {
      service.workers({ destinations: { providerOf }, workerPlace: async () => ({ place, workers: 2 }) }).start();
    }
    await settled(service, other, { delivered: 2 });
    await settled(service, ids, { delivered: 4, held: 2 });
    expect(await takenOf(service, 'provider.test')).toBe(4);
  });

  test('counts a recipient once a day, however many attempts it has', async () => {
    let tries = 0;
    const service = await openAtNoon({
      onRcpt: () => {
        tries += 1;
        return tries === 1 ? { code: 451, text: '4.7.1 try again' } : null;
      },
    });
    await plan(service, [1]);
    const [id = ''] = await sendMany(service, 1);
    service.workers().start();
    await settled(service, [id], { deferred: 1 });
    service.system.shift(120_000);
    await settled(service, [id], { delivered: 1 });
    expect(await takenOf(service, 'example.org')).toBe(1);
  });
});
