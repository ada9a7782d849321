import { categoryOf, type LogProofs, type RecordedEvent } from '../domain/kernel/event-store.ts';
import type { OutboxEvent } from '../domain/kernel/events.ts';
import type { Database, Projection as ReadModelWriter } from '../lib/projections/projections.ts';

/** Every projection, by the name of its read model. */
export type ProjectionName =
  | 'api-keys'
  | 'domains'
  | 'messages'
  | 'events'
  | 'stats'
  | 'billing'
  | 'templates'
  | 'webhooks'
  | 'suppressions'
  | 'topics'
  | 'inbound-routes'
  | 'erasures'
  | 'inbound'
  | 'deliveries'
  | 'destinations'
  | 'reputation'
  | 'live-views'
  | 'audit';

/**
 * How a projection handles each event type of its families. A missing type does not compile.
 */
type Handlers<Followed extends OutboxEvent, Changes> = {
  readonly [Type in Followed['type']]:
    | ((changes: Changes, event: RecordedEvent<Extract<Followed, { readonly type: Type }>>) => void)
    | 'ignored';
};

interface Definition<Followed extends OutboxEvent, Changes> {
  readonly name: ProjectionName;
  /** Raise it when the same events make other rows: the next start rebuilds the read model. */
  readonly version: number;
  /** Stream categories of the families it follows. */
  readonly categories: readonly string[];
  /** Tables that only this projection writes. */
  readonly tables: readonly string[];
  /** Types of events that are written at once. Others wait up to a second for what follows them. */
  readonly urgent?: readonly Followed['type'][];
  readonly handlers: Handlers<Followed, Changes>;
  /** Reads the rows that the batch concerns, in one query. */
  begin(db: Database, events: readonly RecordedEvent[]): Promise<Changes>;
  /** Writes the changes: one statement per table. */
  write(db: Database, changes: Changes): Promise<void>;
}

/** Writes a read model. Table names have no schema: the transaction sets it. */
export interface Projection extends ReadModelWriter {
  readonly name: ProjectionName;
  apply(db: Database, events: readonly RecordedEvent[], proofs?: LogProofs): Promise<void>;
}

type AnyHandler<Changes> = ((changes: Changes, event: RecordedEvent) => void) | 'ignored';

/** A projection whose rules can also be applied without its tables. */
interface DefinedProjection<Changes> extends Projection {
  /** Handles events in order. */
  fold(changes: Changes, events: readonly RecordedEvent[]): void;
}

export const defineProjection = <Followed extends OutboxEvent, Changes>({
  handlers,
  begin,
  write,
  ...rest
}: Definition<Followed, Changes>): DefinedProjection<Changes> => {
  const byType = new Map(Object.entries(handlers) as [string, AnyHandler<Changes>][]);
  const handlerOf = ({ type }: RecordedEvent): AnyHandler<Changes> => byType.get(type) ?? 'ignored';
  // The type first: most projections see nothing of most events.
  const concerns = (event: RecordedEvent): boolean =>
    handlerOf(event) !== 'ignored' && rest.categories.includes(categoryOf(event.stream));

  const fold = (changes: Changes, events: readonly RecordedEvent[]): void => {
    for (const event of events.filter(concerns)) {
      const handle = handlerOf(event);
      if (handle !== 'ignored') handle(changes, event);
    }
  };

  return {
    ...rest,
    fold,
    apply: async (db, events) => {
      const followed = events.filter(concerns);
      if (followed.length === 0) return;
      const changes = await begin(db, followed);
      fold(changes, followed);
      await write(db, changes);
    },
  };
};

/** Ids of messages that these events concern and that were accepted earlier: their rows must be read. */
export const earlierMessages = (events: readonly RecordedEvent[]): readonly string[] => {
  const concerned = new Set<string>();
  const acceptedHere = new Set<string>();
  for (const { type, data } of events) {
    if ('messageId' in data) concerned.add(data.messageId);
    if (type === 'MessageAccepted') acceptedHere.add(data.messageId);
  }
  return [...concerned.difference(acceptedHere)];
};

/** A message's entry. @throws {RangeError} an event came before the message's acceptance. */
export const known = <T>(messages: ReadonlyMap<string, T>, messageId: string): T => {
  const found = messages.get(messageId);
  if (found === undefined) throw new RangeError(`the acceptance of message ${messageId} has not been applied`);
  return found;
};
