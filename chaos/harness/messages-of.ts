import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import { type ExistingMessage, isOpen, message } from '../../src/domain/message/message.ts';

const isMessageEvent = (event: RecordedEvent): event is RecordedEvent<MessageEvent> =>
  event.stream.startsWith(messageStream(''));

/** Replays a log into the current state of each message. */
export const messagesOf = (events: readonly RecordedEvent[]): readonly ExistingMessage[] => {
  const byStream = Map.groupBy(events.filter(isMessageEvent), ({ stream }) => stream);
  return [...byStream.values()].flatMap((own) => {
    const state = own.reduce((before, event) => message.evolve(before, event, event.metadata), message.initial);
    return state.status === 'absent' ? [] : [state];
  });
};

export const isSettled = ({ recipients }: ExistingMessage): boolean =>
  recipients.every(({ status }) => !isOpen(status));
