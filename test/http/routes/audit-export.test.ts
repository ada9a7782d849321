import { describe, expect, test } from 'vitest';
import { BUNDLE, serveLargeLog } from '../support/large-log.ts';

/** Bundles that fit into the buffers of the kernel and of two streams, which hold a few MB. */
const STALLED_BUNDLES_MAX = 200;
const BUNDLES = 100_000;

describe('an export of a large log', () => {
  const { ask, withLeaves, exported } = serveLargeLog();

  test.each(['gzip', 'identity'])('as %s breaks off if the database does, and the service continues', async (type) => {
    withLeaves(BUNDLES * BUNDLE, async (bundle) => {
      if (bundle === 3) throw new Error('the database is away');
    });
    const answer = await exported(type);
    const ended = new Promise((resolve) => answer.once('error', resolve).once('end', resolve).resume());
    expect(await ended).toMatchObject({ code: 'ECONNRESET' });
    expect((await ask('/v1/audit/checkpoints')).statusCode).toBe(200);
  });

  test.each(['gzip', 'identity'])('as %s reads no further than its client, and ends with it', async (type) => {
    let read = 0;
    withLeaves(BUNDLES * BUNDLE, async (bundle) => {
      read = bundle;
    });
    const isStill = async (): Promise<boolean> => {
      const before = read;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return read === before;
    };
    const answer = await exported(type);
    await expect.poll(isStill, { timeout: 20_000 }).toBe(true);
    const stalledAt = read;
    expect(stalledAt).toBeLessThan(STALLED_BUNDLES_MAX);
    await new Promise<void>((resolve) => {
      answer.on('data', () => {
        if (read > stalledAt + 50) resolve();
      });
    });
    answer.destroy();
    await expect.poll(isStill, { timeout: 20_000 }).toBe(true);
    expect(read).toBeLessThan(BUNDLES);
  });
});
