import { categoryOf, type RecordedEvent, type StreamName } from '../domain/ports/event-store.ts';
import { type Batch, moveCheckpoint } from './checkpoints.ts';
import { type Database, inTransaction, type ReadModelSchema } from './database.ts';
import { isPoison } from './fault-kind.ts';
import { applyOrPark, park } from './parking.ts';
import type { Projection } from './projection.ts';

/** One read model of one log, live or being rebuilt, on a connection of its own. */
export interface Target {
  readonly client: Database;
  readonly projection: Projection;
  readonly schema: ReadModelSchema;
  readonly logId: string;
}

const isOf = (streams: ReadonlySet<StreamName>) => (event: RecordedEvent) => streams.has(event.stream);

/** Applies what is not parked; what follows a parked event of its stream waits behind it. */
const applyAll = ({ client, projection, schema, logId }: Target, batch: Batch): Promise<void> =>
  inTransaction(client, schema, async () => {
    const parked = await moveCheckpoint(client, projection, { batch, logId });
    if (parked.size === 0) return projection.apply(client, batch.events);
    const behind = batch.events.filter(isOf(parked)).filter(({ stream }) => follows(projection, stream));
    await park(client, projection, behind, 'an earlier event of this stream is parked');
    await projection.apply(
      client,
      batch.events.filter((event) => !parked.has(event.stream)),
    );
  });

const follows = ({ categories }: Projection, stream: StreamName): boolean => categories.includes(categoryOf(stream));

const applyOneByOne = (
  { client, projection, schema, logId }: Target,
  batch: Batch,
): Promise<readonly RecordedEvent[]> =>
  inTransaction(client, schema, async () => {
    const parked = new Set(await moveCheckpoint(client, projection, { batch, logId }));
    const newlyParked: RecordedEvent[] = [];
    for (const event of batch.events.filter(({ stream }) => follows(projection, stream))) {
      const applied = await applyOrPark(client, projection, event, parked);
      if (!applied) newlyParked.push(event);
    }
    return newlyParked;
  });

/**
 * Applies a batch and moves the checkpoint in one transaction. If an event of it cannot be applied, all are tried one by
 * one, and it is parked.
 * @returns what was parked for the first time or behind another. @throws {Fenced}; faults that may pass.
 */
export const applyBatch = async (target: Target, batch: Batch): Promise<readonly RecordedEvent[]> => {
  try {
    await applyAll(target, batch);
    return [];
  } catch (error) {
    if (!isPoison(error)) throw error;
    return applyOneByOne(target, batch);
  }
};
