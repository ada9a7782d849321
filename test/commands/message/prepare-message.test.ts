import { expect, test } from 'vitest';
import { bodyDigest } from '../../../src/commands/message/prepare-message.ts';

/** A clock by which two pieces of work exceed a turn. */
const slowClock = () => {
  let nowMs = 0;
  return {
    monotonicMs: () => {
      nowMs += 5;
      return nowMs;
    },
  };
};

test('hashing 25 MB of attachments lets other requests run in between', async () => {
  let turns = 0;
  let ended = false;
  const count = (): void => {
    turns += 1;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  const attachments = Array.from({ length: 5 }, () => ({ filename: 'a', content: 'QUJD'.repeat(1_250_000) }));
  await bodyDigest({ system: slowClock() }, { subject: 'x', attachments });
  ended = true;
  expect(turns).toBeGreaterThan(40);
});

test('the digest ignores the order of fields, and depends on every value', async () => {
  const digest = (body: unknown) => bodyDigest({ system: slowClock() }, body);
  const html = 'x'.repeat(70_000);
  expect(await digest({ html, to: 'a' })).toBe(await digest({ to: 'a', html }));
  expect(await digest({ html, to: 'a' })).not.toBe(await digest({ html: `${html} `, to: 'a' }));
  expect(await digest({ html })).not.toBe(await digest({ text: html }));
  for (const odd of [null, 7, 'text', [], [{ html }], { attachments: 'x' }, { attachments: [null, 'x'] }]) {
    expect(await digest(odd)).toMatch(/^[0-9a-f]{64}$/);
  }
});
