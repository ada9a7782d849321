import { expect, test } from 'vitest';
import { createGeneratedDkimKeys } from '../../../src/adapters/dkim-keys.ts';
import { DkimKeysBusy } from '../../../src/domain/ports/secrets.ts';

test('keys are generated off the event loop, and no two are the same', async () => {
  const keys = createGeneratedDkimKeys();
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 5);
  const made = (await Promise.all(Array.from({ length: 4 }, () => keys.make()))).flat();
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
  expect(new Set(made.map(({ privateKey }) => privateKey)).size).toBe(8);
  expect(Buffer.from(made[1]?.publicKey ?? '', 'base64')).toHaveLength(32);
});

test('callers beyond the waiting limit are rejected at once, and earlier ones are served', async () => {
  const keys = createGeneratedDkimKeys({ ahead: true, waitingMax: 2 });
  const results = await Promise.allSettled([keys.make(), keys.make(), keys.make()]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  expect(results[2]).toMatchObject({ reason: expect.any(DkimKeysBusy) });
  expect(await keys.make()).toHaveLength(2);
});
