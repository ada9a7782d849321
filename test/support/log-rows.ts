/** Rebuilds the log's row of each stream after a test has inserted or deleted events by hand. */
export const REMAKE_STREAMS = `
  truncate event_log.streams;
  insert into event_log.streams (stream, revision, first_position, last_position)
  select stream, max(revision), min(position), max(position) from event_log.events group by stream`;

/** Partitions small enough for a test to fill. The log must be empty. */
export const partitionsOf = (size: number): string => `
  select pg_advisory_xact_lock(7881693, 1);
  drop table event_log.events_000001;
  delete from event_log.partitions;
  update event_log.log set partition_size = ${size};
  select event_log.add_partitions(0)`;
