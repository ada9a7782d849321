import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createGate } from '../../src/workers/gate.ts';

/** Work that is told when to end. */
const startWork = (gate: ReturnType<typeof createGate>, weights: readonly number[]) => {
  const begun: number[] = [];
  const ends = weights.map(() => Promise.withResolvers<void>());
  const runs = weights.map((weight, index) =>
    gate.run(weight, async () => {
      begun.push(index);
      await ends[index]?.promise;
    }),
  );
  return {
    begun,
    end: async (index: number): Promise<void> => {
      ends[index]?.resolve();
      await runs[index];
    },
  };
};

describe('a gate', () => {
  test('admits work up to its capacity, and the next when some ends', async () => {
    const { begun, end } = startWork(createGate(10), [4, 6, 1, 9]);
    await turn();
    expect(begun).toEqual([0, 1]);
    await end(1);
    expect(begun).toEqual([0, 1, 2]);
    await end(0);
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  test('admits what is heavier than its capacity, alone', async () => {
    const { begun, end } = startWork(createGate(10), [25, 25, 1]);
    await turn();
    expect(begun).toEqual([0]);
    await end(0);
    expect(begun).toEqual([0, 1]);
    await end(1);
    expect(begun).toEqual([0, 1, 2]);
  });

  test('lets nobody pass who came later, so that the heavy do not wait for ever', async () => {
    const { begun, end } = startWork(createGate(10), [6, 8, 1]);
    await turn();
    expect(begun).toEqual([0]);
    await end(0);
    expect(begun).toEqual([0, 1, 2]);
  });

  test('gives back what failed work held', async () => {
    const gate = createGate(1);
    await expect(gate.run(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await gate.run(1, async () => 'done')).toBe('done');
  });
});
