import type { RecordedEvent } from '../domain/ports/event-store.ts';

/**
 * Does what follows from events of the log, in its order. It is shown every event at least once, some twice: a second
 * time nothing may follow any more. When it fails, it is shown the same events again.
 */
export type Reaction = (events: readonly RecordedEvent[]) => Promise<void>;
