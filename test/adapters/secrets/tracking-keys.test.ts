import { describe, expect, test } from 'vitest';
import { openTrackingKeys } from '../../../src/adapters/secrets/postgres.ts';
import { formatId } from '../../../src/domain/kernel/ids.ts';
import { openUrl, readOpen, type TrackingKeys } from '../../../src/domain/tracking/tracking.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';

const keyOf = (number: number): string => `secret key number ${number} of sufficient length`;
const COPY = {
  messageId: formatId('msg', Buffer.alloc(16)),
  recipientId: formatId('rcp', Buffer.alloc(16)),
  organizationId: formatId('org', Buffer.alloc(16)),
};

const tokenBy = (keys: TrackingKeys): string => openUrl(keys, 'https://t.test', COPY).slice('https://t.test/o/'.length);
const reads = (keys: TrackingKeys, token: string): boolean => readOpen(keys, token) !== null;

describe('the keys of tracked links', () => {
  test('are the same in every process with the same SECRET_KEY', async () => {
    const secrets = createInMemorySecrets();
    const [first, second] = await Promise.all([
      openTrackingKeys(secrets, { current: keyOf(1) }),
      openTrackingKeys(secrets, { current: keyOf(1) }),
    ]);
    expect(second).toEqual(first);
    expect(await openTrackingKeys(createInMemorySecrets(), { current: keyOf(1) })).toEqual(first);
  });

  test('differ for another SECRET_KEY', async () => {
    const [ours, theirs] = await Promise.all(
      [1, 2].map((number) => openTrackingKeys(createInMemorySecrets(), { current: keyOf(number) })),
    );
    if (ours === undefined || theirs === undefined) throw new Error('both are open');
    expect(reads(ours, tokenBy(theirs))).toBe(false);
  });

  test('recognise each other across a rotation', async () => {
    const secrets = createInMemorySecrets();
    await openTrackingKeys(secrets, { current: keyOf(1) });
    const before = await openTrackingKeys(secrets, { current: keyOf(1), previous: keyOf(2) });
    const after = await openTrackingKeys(secrets, { current: keyOf(2), previous: keyOf(1) });
    expect(reads(before, tokenBy(after))).toBe(true);
    expect(reads(after, tokenBy(before))).toBe(true);
    expect(tokenBy(after)).not.toBe(tokenBy(before));
  });

  test('outlive every rotation, once the previous keys are no longer set', async () => {
    const secrets = createInMemorySecrets();
    const tokens = [tokenBy(await openTrackingKeys(secrets, { current: keyOf(1) }))];
    for (let number = 2; number <= 5; number += 1) {
      await openTrackingKeys(secrets, { current: keyOf(number - 1), previous: keyOf(number) });
      await openTrackingKeys(secrets, { current: keyOf(number), previous: keyOf(number - 1) });
      const keys = await openTrackingKeys(secrets, { current: keyOf(number) });
      tokens.push(tokenBy(keys));
      expect(tokens.map((token) => reads(keys, token))).toEqual(tokens.map(() => true));
    }
  });
});
