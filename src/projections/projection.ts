import type { OutboxEvent } from '../domain/events.ts';
import { categoryOf, type RecordedEvent } from '../domain/ports/event-store.ts';
import type { Database } from './database.ts';
import type { ProjectionName } from './names.ts';

/**
 * What to do with each event of the families a projection follows: note its change, or nothing. A type that is missing
 * here does not compile.
 */
type Handlers<Followed extends OutboxEvent, Changes> = {
  readonly [Type in Followed['type']]:
    | ((changes: Changes, event: RecordedEvent<Extract<Followed, { readonly type: Type }>>) => void)
    | 'ignored';
};

interface Definition<Followed extends OutboxEvent, Changes> {
  readonly name: ProjectionName;
  /** Raised when the same events make other rows: the read model is then rebuilt at the next start. */
  readonly version: number;
  /** Stream categories of the families it follows. */
  readonly categories: readonly string[];
  /** Tables that only this projection writes. */
  readonly tables: readonly string[];
  readonly handlers: Handlers<Followed, Changes>;
  /** What the batch starts from: whatever of the rows it concerns has to be known, read in one query. */
  begin(db: Database, events: readonly RecordedEvent[]): Promise<Changes>;
  /** Writes what the handlers noted: one statement for all rows of a table. */
  write(db: Database, changes: Changes): Promise<void>;
}

/** A read model's writer. Tables are named without a schema: the transaction says which it is. */
export interface Projection {
  readonly name: ProjectionName;
  readonly version: number;
  readonly categories: readonly string[];
  readonly tables: readonly string[];
  /** Applies events in order, inside the caller's transaction. */
  apply(db: Database, events: readonly RecordedEvent[]): Promise<void>;
}

type AnyHandler<Changes> = ((changes: Changes, event: RecordedEvent) => void) | 'ignored';

export const defineProjection = <Followed extends OutboxEvent, Changes>({
  handlers,
  begin,
  write,
  ...rest
}: Definition<Followed, Changes>): Projection => {
  const byType = new Map(Object.entries(handlers) as [string, AnyHandler<Changes>][]);
  const handlerOf = ({ type }: RecordedEvent): AnyHandler<Changes> => byType.get(type) ?? 'ignored';
  const concerns = (event: RecordedEvent): boolean =>
    rest.categories.includes(categoryOf(event.stream)) && handlerOf(event) !== 'ignored';

  return {
    ...rest,
    apply: async (db, events) => {
      const followed = events.filter(concerns);
      if (followed.length === 0) return;
      const changes = await begin(db, followed);
      for (const event of followed) {
        const handle = handlerOf(event);
        if (handle !== 'ignored') handle(changes, event);
      }
      await write(db, changes);
    },
  };
};
