import { describe, expect, test } from 'vitest';
import { createTimers } from '../../../src/lib/async/timeouts.ts';
import { createSteppableSystem } from '../../support/system.ts';

const open = (fire: (name: string) => void = () => undefined) => {
  const system = createSteppableSystem();
  const fired: string[] = [];
  const timers = createTimers(system, (name) => {
    fired.push(`${name} ${system.monotonicMs()}`);
    fire(name);
  });
  return { system, fired, timers };
};

describe('timers', () => {
  test('fire at their times, in whatever order they were set', async () => {
    const { system, fired, timers } = open();
    timers.set('late', 3_000);
    timers.set('soon', 1_000);
    timers.set('then', 2_000);
    await system.advance(5_000);
    expect(fired).toEqual(['soon 1000', 'then 2000', 'late 3000']);
  });

  test('exist once for each name: the last that was set', async () => {
    const { system, fired, timers } = open();
    timers.set('a', 1_000);
    timers.set('a', 2_000);
    await system.advance(5_000);
    expect(fired).toEqual(['a 2000']);
  });

  test('can be set for the past, and while firing: they never fire at once', async () => {
    let again = 3;
    const { system, fired, timers } = open((name) => {
      again -= 1;
      if (again > 0) timers.set(name, 0);
    });
    timers.set('a', 0);
    expect(fired).toEqual([]);
    await system.advance(1_000);
    expect(fired).toEqual(['a 20', 'a 40', 'a 60']);
  });

  test('do not fire, and cannot be set, after closing', async () => {
    const { system, fired, timers } = open();
    timers.set('a', 1_000);
    timers.close();
    timers.set('b', 1_000);
    await system.advance(5_000);
    expect(fired).toEqual([]);
  });
});
