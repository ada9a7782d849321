import type { Pool } from 'pg';
import { type Batcher, createBatcher } from '../../async/batcher.ts';
import type { EventCodec } from '../../domain/codec.ts';
import {
  READ_STREAM_LIMIT,
  type ReadStreamOptions,
  type RecordedEvent,
  type StreamName,
} from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import { readFailure } from './postgres-faults.ts';
import { EVENT_COLUMNS, integerArray, type TextRow, textArray, toEvent } from './postgres-rows.ts';

/** One runs while the answer of the other is decoded; more would only be smaller. */
const READS_IN_FLIGHT_MAX = 2;
/** Streams are short: some thousand rows. Larger delays the first reader of a group by the last one's rows. */
const GROUP_STREAMS_MAX = 256;
/** As for appends: at worst a second's work. */
const WAITING_READS_MAX = 10_000;
const INTEGER_MAX = 2_147_483_647;

const columns = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ');

/**
 * Many streams in one query, as workers read the streams of hundreds of messages at once: a walk down the index
 * (stream, revision) for each.
 */
const FORWARDS = {
  name: 'event-log-read-streams',
  text: `
    select m.ord, ${columns}
    from unnest($1::text[], $2::integer[], $3::integer[]) with ordinality as m (stream, start, size, ord)
    cross join lateral (
      select * from event_log.events s
      where s.stream = m.stream collate "C" and s.revision >= m.start
      order by s.revision limit m.size
    ) e
    order by m.ord, e.revision`,
} as const;

const BACKWARDS = {
  name: 'event-log-read-streams-backwards',
  text: `
    select m.ord, ${columns}
    from unnest($1::text[], $2::integer[], $3::integer[]) with ordinality as m (stream, start, size, ord)
    cross join lateral (
      select * from event_log.events s
      where s.stream = m.stream collate "C" and s.revision <= m.start
      order by s.revision desc limit m.size
    ) e
    order by m.ord, e.revision desc`,
} as const;

interface StreamRead {
  readonly stream: StreamName;
  readonly from: number;
  readonly limit: number;
}

type StreamRows = readonly TextRow[];

const admission = (): (() => boolean) => {
  let streams = 0;
  return () => {
    streams += 1;
    return streams <= GROUP_STREAMS_MAX;
  };
};

export interface StreamReading {
  readStream(stream: StreamName, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]>;
  close(): Promise<void>;
}

/** Reads of streams that come while others are under way share the next query. */
export const createStreamReading = (
  pool: Pool,
  codec: EventCodec,
  system: Pick<System, 'monotonicMs'>,
  patienceMs: number,
): StreamReading => {
  const query = async (
    statement: typeof FORWARDS | typeof BACKWARDS,
    reads: readonly StreamRead[],
  ): Promise<readonly PromiseSettledResult<StreamRows>[]> => {
    const values = [
      textArray(reads.map(({ stream }) => stream)),
      integerArray(reads.map(({ from }) => from)),
      integerArray(reads.map(({ limit }) => limit)),
    ];
    const found: TextRow[][] = reads.map(() => []);
    try {
      const { rows } = await pool.query<(string | null)[]>({ ...statement, rowMode: 'array', values });
      for (const row of rows) found[Number(row[0]) - 1]?.push(row);
    } catch (error) {
      throw readFailure(error);
    }
    return found.map((value) => ({ status: 'fulfilled', value }));
  };

  const gatherOf = (statement: typeof FORWARDS | typeof BACKWARDS): Batcher<StreamRead, StreamRows> =>
    createBatcher({
      name: 'the log',
      inFlightMax: READS_IN_FLIGHT_MAX,
      waitingMax: WAITING_READS_MAX,
      patience: { ms: patienceMs, system },
      admission,
      run: (reads) => query(statement, reads),
    });

  const [forwards, backwards] = [gatherOf(FORWARDS), gatherOf(BACKWARDS)];

  return {
    readStream: async (stream, { from, direction = 'forwards', limit = READ_STREAM_LIMIT } = {}) => {
      const read =
        direction === 'forwards'
          ? forwards.add({ stream, from: from ?? 0, limit })
          : backwards.add({ stream, from: from ?? INTEGER_MAX, limit });
      return (await read).map((row) => toEvent(codec, row, 1));
    },
    close: async () => {
      await Promise.all([forwards.close(), backwards.close()]);
    },
  };
};
