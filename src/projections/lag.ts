import type { EventStore, Position } from '../domain/ports/event-store.ts';
import type { System } from '../domain/ports/system.ts';
import type { Database } from './database.ts';

export interface ProjectionLag {
  readonly name: string;
  /** Age of the oldest event that is not in the read model; 0: none is missing. */
  readonly seconds: number;
  /** Events that could not be applied and wait for `retryParked`. */
  readonly parkedEvents: number;
}

const CHECKPOINTS = `
  select c.name, c.position, (select count(*)::int from read_models.parked_events p where p.projection = c.name) as parked
  from read_models.checkpoints c
  order by c.name`;

interface Row {
  readonly name: string;
  readonly position: Position;
  readonly parked: number;
}

export interface LagOptions {
  readonly pool: Database;
  readonly store: Pick<EventStore, 'readAll'>;
  readonly system: System;
}

/** How far each read model is behind the log, wherever its projection runs. */
export const createLagReader = ({ pool, store, system }: LagOptions): (() => Promise<readonly ProjectionLag[]>) => {
  const ageBehind = async (position: Position): Promise<number> => {
    const { events } = await store.readAll({ from: position, limit: 1 });
    const oldest = events[0]?.metadata.occurredAt;
    return oldest === undefined ? 0 : Math.max(0, system.now().getTime() - Date.parse(oldest)) / 1000;
  };

  return async () => {
    const { rows } = await pool.query<Row>(CHECKPOINTS);
    const positions = [...new Set(rows.map(({ position }) => position))];
    const ages = new Map(
      await Promise.all(positions.map(async (position) => [position, await ageBehind(position)] as const)),
    );
    return rows.map(({ name, position, parked }) => ({
      name,
      seconds: ages.get(position) ?? 0,
      parkedEvents: parked,
    }));
  };
};
