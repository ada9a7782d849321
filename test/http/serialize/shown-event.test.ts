import { describe, expect, test } from 'vitest';
import { customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { eventSchema } from '../../../src/http/resources/events/event.ts';
import { serializeEvent } from '../../../src/http/resources/events/serialize-events.ts';
import { recorded } from '../../http/serialize/explain/explaining.ts';
import { about, smtpReply } from '../../support/controls/message.ts';

const shown = (event: MessageEvent) =>
  recorded([{ event }])
    .flatMap(customerEvents)
    .map((each) => serializeEvent(each, new Map()));

describe('a returned report that others could have written', () => {
  const of = { ...about, sequence: 4, recipientId: 'rcp_1' };
  const bounce = { ...of, attempt: 1, smtp: smtpReply(550), reason: 'no such user', late: true } as const;

  test('is marked as such for readers who keep a list from these events', () => {
    const events = [
      ...shown({ type: 'RecipientComplained', data: { ...of, shared: true } }),
      ...shown({ type: 'RecipientBounced', data: { ...bounce, shared: true } }),
    ];
    expect(events).toMatchObject([
      { type: 'message.complained', data: { shared: true } },
      { type: 'message.bounced', data: { shared: true, late: true } },
    ]);
    for (const event of events) expect(eventSchema.parse(event)).toEqual(event);
  });

  test('is the exception: a proven one is not marked', () => {
    const [event] = shown({ type: 'RecipientBounced', data: bounce });
    expect(event?.data).not.toHaveProperty('shared');
  });
});
