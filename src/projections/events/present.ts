import type { CustomerEvent } from '../../domain/customer-events.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import { contentIdsOf, type LoadedContents, type ShownEvent, showEvent } from '../../domain/shown-event.ts';

/** Events as the feed and webhooks show them: with what is personal, from the vault; what is erased is null or empty. */
export const presentEvents = async (
  contents: Pick<Contents, 'heads'>,
  events: readonly CustomerEvent[],
): Promise<readonly ShownEvent[]> => {
  const ids = contentIdsOf(events);
  const loaded: LoadedContents = ids.length === 0 ? new Map() : await contents.heads(ids);
  return events.map((event) => showEvent(event, loaded));
};
