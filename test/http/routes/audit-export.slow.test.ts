import { describe, expect, test } from 'vitest';
import { BUNDLE, serveLargeLog } from '../support/large-log.ts';

const LEAVES = 2_000_000;
const BUNDLES = Math.ceil(LEAVES / BUNDLE);
/** Allowance for garbage between two collections. */
const GROWTH_BYTES_MAX = 150_000_000;

describe('an export of millions of events', () => {
  const { withLeaves, exported } = serveLargeLog();

  test('uses no more memory than one of thousands', async () => {
    const heaps: number[] = [];
    withLeaves(LEAVES, async (bundle) => {
      if (bundle % 100 === 99) heaps.push(process.memoryUsage().rss);
    });
    const answer = await exported('identity');
    let bytes = 0;
    for await (const chunk of answer) bytes += (chunk as Buffer).length;
    expect(heaps).toHaveLength(Math.floor(BUNDLES / 100));
    expect(bytes).toBeGreaterThan(LEAVES * 800);
    expect(Math.max(...heaps) - (heaps[2] ?? 0)).toBeLessThan(GROWTH_BYTES_MAX);
  }, 600_000);
});
