import { expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { createSteppableSystem } from '../support/system.ts';

test('the real system tells time, generates randomness and sleeps until it is woken', async () => {
  const system = createSystem();
  expect(Math.abs(system.now().getTime() - Date.now())).toBeLessThan(1_000);
  expect(system.randomBytes(16)).toHaveLength(16);
  expect(system.uuid()).not.toBe(system.uuid());
  const before = system.monotonicMs();
  await system.sleep(20);
  expect(system.monotonicMs() - before).toBeGreaterThanOrEqual(19);
  await expect(system.sleep(60_000, AbortSignal.timeout(10))).rejects.toThrow();
});

test('ids of one time sort together, and all are different', async () => {
  const { uuid, sleep } = createSystem();
  const first = Array.from({ length: 1_000 }, uuid);
  expect(new Set(first).size).toBe(1_000);
  for (const id of first) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const ageMs = Date.now() - Number.parseInt((first[0] ?? '').replace('-', '').slice(0, 12), 16);
  expect(ageMs).toBeGreaterThanOrEqual(0);
  expect(ageMs).toBeLessThan(5_000);
  await sleep(2);
  const later = uuid();
  expect(first.every((id) => id < later)).toBe(true);
});

test('the steppable system is repeatable and moves only when it is stepped', async () => {
  const system = createSteppableSystem({ seed: 7 });
  expect(system.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(createSteppableSystem({ seed: 7 }).randomBytes(8)).toEqual(createSteppableSystem({ seed: 7 }).randomBytes(8));
  const woken: string[] = [];
  const run = async () => {
    await system.sleep(100);
    woken.push(system.now().toISOString());
    await system.sleep(100);
    woken.push(system.now().toISOString());
  };
  const running = run();
  void system.sleep(150).then(() => woken.push('between'));
  await system.advance(99);
  expect(woken).toEqual([]);
  await system.advance(1_000);
  await running;
  expect(woken).toEqual(['2026-01-01T00:00:00.100Z', 'between', '2026-01-01T00:00:00.200Z']);
  expect(system.monotonicMs()).toBe(1_099);
});

test('a sleeper of the steppable system is woken by its signal', async () => {
  const system = createSteppableSystem();
  const stop = new AbortController();
  const sleeping = system.sleep(1_000, stop.signal);
  stop.abort();
  await expect(sleeping).rejects.toThrow();
  await expect(system.sleep(1, stop.signal)).rejects.toThrow();
});
