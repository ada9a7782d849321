import type { Loaded } from '../../commands/execute.ts';
import { fold } from '../../domain/aggregate.ts';
import type { MessageEvent } from '../../domain/events.ts';
import { type Message, message } from '../../domain/message/message.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';

export type Accepted = RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>;

/**
 * Messages as the dispatcher has just seen them accepted: whoever claims one in this process is spared the read. What
 * became of a message since is not known here; a claim that is made upon it finds out by its revision.
 */
export interface AcceptedAtHand {
  add(events: readonly Accepted[]): void;
  /** Once. */
  take(messageId: string): Loaded<Message> | undefined;
}

/** About 10 MB where each has a few recipients. What is forgotten early is read. */
const EVENTS_MAX = 5_000;

export const createAcceptedAtHand = (): AcceptedAtHand => {
  /** In the order in which they were accepted. */
  const events = new Map<string, Accepted>();
  return {
    add: (accepted) => {
      for (const event of accepted) events.set(event.data.messageId, event);
      for (const id of events.keys()) {
        if (events.size <= EVENTS_MAX) return;
        events.delete(id);
      }
    },
    take: (messageId) => {
      const event = events.get(messageId);
      if (event === undefined) return undefined;
      events.delete(messageId);
      return { state: fold(message, [event]), revision: event.revision };
    },
  };
};
