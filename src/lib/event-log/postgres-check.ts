import type { Pool } from 'pg';
import type { ColumnDifference, Position } from './event-log.ts';
import { readFailure } from './postgres-read.ts';

/**
 * Compares columns that follow from others: the category of each event, by which followers choose, and the row of each
 * stream, by which its events are found. A change of one of them hides events and leaves their contents as they are.
 */

/** Differences shown. One change of a stream's row is one difference. */
const DIFFERENCES_MAX = 100;

const CATEGORY = {
  name: 'event-log-check-category',
  text: `
    select id, stream, category from event_log.events
    where position > $1 and position <= $2 and category <> split_part(stream, '-', 1)
    order by position limit ${DIFFERENCES_MAX}`,
};

/** Streams of events in this part of the log that their row does not cover. */
const UNCOVERED = {
  name: 'event-log-check-uncovered',
  text: `
    select e.stream, min(e.revision) as revision
    from event_log.events e left join event_log.streams s on s.stream = e.stream
    where e.position > $1 and e.position <= $2
      and (s.stream is null or e.revision > s.revision or e.position < s.first_position or e.position > s.last_position)
    group by e.stream order by e.stream limit ${DIFFERENCES_MAX}`,
};

/** Rows of streams that end in this part of the log, or in no part, without the events that they name. */
const WRONG_END = {
  name: 'event-log-check-end',
  text: `
    select s.stream, s.revision from event_log.streams s
    left join event_log.events e on e.position = s.last_position
    where s.last_position > $1 and s.last_position <= $2
      and (e.position is null or e.stream <> s.stream or e.revision <> s.revision)
      and not exists (select from event_log.partitions p
        where p.detached_at is not null and s.last_position between p.first and p.last)
    order by s.stream limit ${DIFFERENCES_MAX}`,
};

/** Positions of one statement. More run into the time limit of statements, fewer scan the streams more often. */
const SLICE_EVENTS = 100_000;

interface Part {
  /** Exclusive. */
  readonly after: Position;
  /** Inclusive. */
  readonly to: Position;
}

export const compareColumns = async (pool: Pool, part: Part): Promise<readonly ColumnDifference[]> => {
  const rowsOf = async (statement: typeof CATEGORY, values: readonly number[]) => {
    try {
      return (await pool.query<Record<string, string>>({ ...statement, values: [...values] })).rows;
    } catch (error) {
      throw readFailure(error);
    }
  };
  const compareSlice = async (values: readonly number[]): Promise<readonly ColumnDifference[]> => [
    ...(await rowsOf(CATEGORY, values)).map(({ id, stream = '', category }) => ({
      stream,
      sentence: `event ${id} of stream ${stream} has the category ${JSON.stringify(category)} in event_log.events, so that followers of its own category do not see it: that column was changed from outside the service`,
    })),
    ...(await rowsOf(UNCOVERED, values)).map(({ stream = '', revision }) => ({
      stream,
      sentence: `event_log.streams does not cover revision ${revision} of stream ${stream}, so that reads of the stream do not find it: that table was changed from outside the service, or the event was inserted`,
    })),
    ...(await rowsOf(WRONG_END, values)).map(({ stream = '', revision }) => ({
      stream,
      sentence: `event_log.streams says that stream ${stream} ends with revision ${revision}, but that event is not there: it was removed, or that table was changed from outside the service`,
    })),
  ];
  const to = Number(part.to);
  const differences: ColumnDifference[] = [];
  for (let after = Number(part.after); after < to; after += SLICE_EVENTS)
    differences.push(...(await compareSlice([after, Math.min(after + SLICE_EVENTS, to)])));
  return differences;
};
