import { describe, expect, test } from 'vitest';
import { messageStatus } from '../../../src/domain/message/message.ts';

describe('the status of a message', () => {
  test.each([
    [['accepted'], 'accepted', false],
    [['accepted', 'sending', 'delivered'], 'sending', false],
    [['delivered', 'deferred'], 'deferred', false],
    [['scheduled', 'suppressed'], 'scheduled', false],
    [['cancelled', 'sending'], 'sending', false],
    [['cancelled', 'cancelled'], 'cancelled', false],
    [['cancelled', 'delivered'], 'delivered', true],
    [['cancelled', 'suppressed'], 'suppressed', false],
    [['cancelled', 'bounced', 'failed'], 'bounced', false],
    [['cancelled', 'failed', 'expired'], 'failed', false],
    [['delivered', 'bounced'], 'delivered', true],
    [['delivered', 'delivered'], 'delivered', false],
    [['bounced', 'expired'], 'bounced', false],
    [['suppressed', 'expired'], 'expired', false],
    [['suppressed'], 'suppressed', false],
  ] as const)('of recipients %j is %s', (statuses, status, partial) => {
    expect(messageStatus(statuses.map((each) => ({ status: each })))).toEqual({ status, partial });
  });
});
