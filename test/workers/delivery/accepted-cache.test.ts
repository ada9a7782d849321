import { describe, expect, test } from 'vitest';
import { cancelMessage } from '../../../src/commands/message/attempt.ts';
import type { EventStore, RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { type AcceptedEvent, createAcceptedCache } from '../../../src/workers/delivery/dispatch.ts';
import { messageAccepted } from '../../support/controls/message.ts';
import { contextAt, recordedAs } from '../../support/specification.ts';
import { openDelivering as open, statuses, until } from '../delivering.ts';

const NOW = '2026-11-21T12:00:00.000Z';

const accepted = (messageId: string): AcceptedEvent => {
  const place = { id: messageId, stream: messageStream(messageId), position: '1' };
  return recordedAs(messageAccepted({ messageId }), place, contextAt(NOW)) as RecordedEvent as AcceptedEvent;
};

describe('the cache of accepted messages', () => {
  test('returns each message once, as it was accepted', () => {
    const atHand = createAcceptedCache();
    atHand.add([accepted('msg_1'), accepted('msg_2')]);
    expect(atHand.take('msg_2')).toMatchObject({
      revision: 0,
      state: { accepted: { messageId: 'msg_2' }, attempts: 0 },
    });
    expect(atHand.take('msg_2')).toBeUndefined();
    expect(atHand.take('msg_1')).toBeDefined();
  });

  test('drops the oldest when it is full', () => {
    const atHand = createAcceptedCache();
    atHand.add(Array.from({ length: 5_010 }, (_, index) => accepted(`msg_${index}`)));
    expect(atHand.take('msg_9')).toBeUndefined();
    expect(atHand.take('msg_10')).toBeDefined();
  });
});

describe('a message accepted while workers run', () => {
  test('is sent without a read', async () => {
    const service = await open();
    const reads: string[] = [];
    const store: EventStore = {
      ...service.dependencies.store,
      readStream: (stream, options) => {
        reads.push(stream);
        return service.dependencies.store.readStream(stream, options);
      },
    };
    service.workers({ store }).start();
    const first = await service.send('ann@example.org'); // the workers lead once it is delivered
    await until(async () => expect(await statuses(service, first)).toEqual(['delivered']));
    const id = await service.send('ann@example.org');
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    expect(reads).not.toContain(messageStream(id));
  });

  test('is not sent if it is cancelled before its claim, even if the worker does not know', async () => {
    const service = await open();
    const { store } = service.dependencies;
    let isHeld = true;
    const held: EventStore = {
      ...store,
      // Cancels the message after the worker has loaded it and before its claim.
      append: async (append) => {
        const isClaim = isHeld && append.events.some(({ type }) => type === 'AttemptStarted');
        if (isClaim) {
          isHeld = false;
          const origin = { actor: 'key:key_1', organizationId: service.organizationId, environment: 'live' } as const;
          const rest = { requestId: null, correlationId: 'test', causationId: 'test' };
          const messageId = append.stream.slice('message-'.length);
          await cancelMessage({ store, system: service.system }, { ...origin, ...rest }, { messageId });
        }
        return store.append(append);
      },
    };
    service.workers({ store: held }).start();
    const id = await service.send('ann@example.org');
    await until(async () => expect(await statuses(service, id)).toEqual(['cancelled']));
    expect(await service.history(id)).not.toContain('AttemptStarted');
    expect(service.sink.mails).toHaveLength(0);
  });
});
