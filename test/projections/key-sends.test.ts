import { expect, test } from 'vitest';
import { Fenced } from '../../src/lib/projections/projections.ts';
import { keySends, messagesProjection } from '../../src/projections/messages/projection.ts';
import { messageAccepted, recipient } from '../support/controls/message.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS } from './support/message-events.ts';

const open = async () => {
  const applied = await openApplied(messagesProjection);
  let sent = 0;
  return {
    ...applied,
    send: async (occurredAt: string, secret: number | undefined, { recipients = 1, keyId = 'key_1' } = {}) => {
      sent += 1;
      const messageId = `msg_${sent}`;
      const event = messageAccepted({ messageId, keyId, recipients: Array(recipients).fill(recipient('rcp_1')) });
      await applied.given(`message-${messageId}`, [event], {
        occurredAt,
        ...(secret === undefined ? {} : { secret }),
      });
    },
    sends: async (from: number, to: number, keyId = 'key_1') => [
      ...(await keySends(applied.pool, { organizationId: 'org_mine', keyId, from, to })).values(),
    ],
  };
};

test('sends are counted by secret, with the first and the last time, whatever the order of the clocks', async () => {
  const { send, sends } = await open();
  await send('2026-11-20T10:00:05.000Z', 1, { recipients: 3 });
  await send('2026-11-20T10:00:01.000Z', 1);
  await send('2026-11-21T00:00:00.000Z', 1);
  await send('2026-11-20T10:00:03.000Z', 2);
  await send('2026-11-20T10:00:03.000Z', 1, { keyId: 'key_2' });
  await send('2026-11-20T10:00:03.000Z', undefined);
  const first = {
    secret: 1,
    messages: 3,
    recipients: 5,
    firstAt: new Date('2026-11-20T10:00:01.000Z'),
    lastAt: new Date('2026-11-21T00:00:00.000Z'),
  };
  expect(await sends(1, 1)).toEqual([first]);
  expect((await sends(1, 2)).length).toBe(2);
  expect(await sends(3, 1000)).toEqual([]);
});

test('a repeated batch counts nothing', async () => {
  const { given, apply, lastBatch, sends } = await open();
  await given('message-msg_1', [messageAccepted(), LATER_EVENTS.RecipientDelivered], { secret: 1 });
  await expect(apply(lastBatch())).rejects.toThrow(Fenced);
  expect(await sends(1, 1)).toMatchObject([{ messages: 1, recipients: 1 }]);
});
