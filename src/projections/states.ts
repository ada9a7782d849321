import type { Aggregate } from '../domain/kernel/aggregate.ts';
import { categoryOf, idOf, type RecordedEvent } from '../domain/kernel/event-store.ts';
import type { OutboxEvent } from '../domain/kernel/events.ts';
import {
  asRecords,
  type Database,
  type ListCursor,
  type ListPage,
  pageOf,
  rowsToAsk,
} from '../lib/projections/projections.ts';
import type { Projection, ProjectionName } from './projection.ts';

/**
 * Read models whose rows are the states of aggregates: a row is its id, the columns that queries filter and sort by, and
 * the state as JSON.
 */

type Existing<State> = Exclude<State, { readonly status: 'absent' }>;

interface Definition<State extends object, E extends OutboxEvent> {
  readonly name: ProjectionName;
  /** Raise it when the same events make other rows: the next start rebuilds the read model. */
  readonly version: number;
  /** The projection follows every event of its category. */
  readonly aggregate: Aggregate<State, E>;
  readonly table: string;
  /** SQL types of the columns beside `state`, by name. The first column is the id. */
  readonly columns: Readonly<Record<string, string>>;
  /** Values of the columns, named in camel case. Default: the state's fields of these names. */
  readonly rowOf?: (state: Existing<State>, id: string) => object;
  /** Further tables that the projection writes from the same states. */
  readonly others?: {
    readonly tables: readonly string[];
    write(db: Database, states: readonly Existing<State>[]): Promise<void>;
  };
}

const camelCase = (column: string): string => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const upsertOf = (table: string, columns: Readonly<Record<string, string>>): string => {
  const names = [...Object.keys(columns), 'state'];
  const fields = names.map((name) => `"${camelCase(name)}" ${columns[name] ?? 'json'}`);
  const [id, ...others] = names;
  return `
    insert into ${table} (${names.join(', ')})
    select ${names.map((name) => `"${camelCase(name)}"`).join(', ')} from json_to_recordset($1) as r(${fields.join(', ')})
    on conflict (${id}) do update set ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`;
};

const isAbsent = (state: object): boolean => 'status' in state && state.status === 'absent';

/** A read model whose rows are the states of an aggregate that exists. */
export const defineStates = <State extends object, E extends OutboxEvent>({
  name,
  version,
  aggregate,
  table,
  columns,
  rowOf = (state) => state,
  others,
}: Definition<State, E>): Projection => {
  const [id] = Object.keys(columns);
  const select = `select ${id} as id, state from ${table} where ${id} = any($1)`;
  const upsert = upsertOf(table, columns);

  const statesAfter = async (
    db: Database,
    events: readonly RecordedEvent<E>[],
  ): Promise<ReadonlyMap<string, State>> => {
    const ids = [...new Set(events.map(({ stream }) => idOf(stream)))];
    const { rows } = await db.query<{ id: string; state: State }>(select, [ids]);
    const states = new Map(rows.map(({ id, state }) => [id, state]));
    for (const event of events) {
      const key = idOf(event.stream);
      states.set(key, aggregate.evolve(states.get(key) ?? aggregate.initial, event, event.metadata, event.position));
    }
    return states;
  };

  return {
    name,
    version,
    categories: [aggregate.category],
    tables: [table, ...(others?.tables ?? [])],
    apply: async (db, events) => {
      const own = events.filter(({ stream }) => categoryOf(stream) === aggregate.category);
      if (own.length === 0) return;
      const states = await statesAfter(db, own as unknown as readonly RecordedEvent<E>[]);
      const existing = [...states].filter(([, state]) => !isAbsent(state)) as [string, Existing<State>][];
      await db.query(upsert, asRecords(existing.map(([key, state]) => ({ ...rowOf(state, key), state }))));
      await others?.write(
        db,
        existing.map(([, state]) => state),
      );
    },
  };
};

/** Asks for a page of an organization's resources, newest first. */
export interface ListRequest {
  readonly organizationId: string;
  readonly limit: number;
  readonly after: ListCursor | null;
  /** Include resources that are deleted now. */
  readonly withDeleted?: boolean;
}

interface StateList {
  readonly table: string;
  /** Column of the id. */
  readonly id: string;
  /** Further conditions on the rows. Their parameters start at `$5`. */
  readonly where: string;
}

/** Lists the states of an organization's rows, newest first. */
export const listStates =
  <State extends { readonly createdAt: string }>({ table, id, where }: StateList) =>
  async (
    db: Database,
    { organizationId, limit, after }: ListRequest,
    values: readonly unknown[] = [],
  ): Promise<ListPage<State>> => {
    const text = `
      select ${id} as id, state from read_models.${table}
      where organization_id = $1 and ($2::timestamptz is null or (created_at, ${id}) < ($2, $3::text)) and ${where}
      order by created_at desc, ${id} desc
      limit $4`;
    const { rows } = await db.query<{ id: string; state: State }>({
      name: `list-${table}`,
      text,
      values: [organizationId, after?.createdAt ?? null, after?.id ?? null, rowsToAsk(limit), ...values],
    });
    const page = pageOf(rows, limit, ({ id, state }) => ({ createdAt: state.createdAt, id }));
    return { ...page, items: page.items.map(({ state }) => state) };
  };
