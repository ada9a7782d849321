import { newMessageId } from '../../src/commands/message/send-message.ts';
import type { Append } from '../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import type { System } from '../../src/lib/async/async.ts';
import { lifeOf } from '../harness/realistic-log.ts';

export interface SampleAppends {
  /** An append of `MessageAccepted` events with new ids to a new stream. */
  next(events: number): Append;
}

/** Supplies the same events to every contender. Only ids are generated during the measurement. */
export const sampleAppends = (system: System): SampleAppends => {
  const [sample] = lifeOf(system, 0);
  const event = sample?.events[0];
  if (sample === undefined || event === undefined) throw new Error('a life begins with an event');
  return {
    next: (events) => ({
      stream: messageStream(newMessageId(system)),
      expected: 'no-stream',
      context: sample.context,
      events: Array.from({ length: events }, () => ({ ...event, id: system.uuid() })),
    }),
  };
};
