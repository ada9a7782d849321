import { type EventStore, LOG_START, type Position } from '../../domain/event-store.ts';
import type { Work } from '../keep-running.ts';
import type { Endpoints } from './endpoints.ts';

/** Keeps endpoints as the end of the log has them; `onChange` after each change. */
export const followEndpoints = (
  store: Pick<EventStore, 'subscribe'>,
  endpoints: Endpoints,
  onChange: () => void,
): Work => {
  let position: Position = LOG_START;
  return async (signal, working) => {
    for await (const page of store.subscribe(position, { categories: ['webhook'] }, signal)) {
      for (const event of page.events) endpoints.apply(event);
      position = page.position;
      if (page.events.length > 0) onChange();
      working();
    }
  };
};
