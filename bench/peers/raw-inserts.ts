import { Pool } from 'pg';
import type { Closers } from '../../src/composition/lifecycle.ts';
import type { Append } from '../../src/domain/kernel/event-store.ts';

/** Columns and indexes of the log without its guarantees: no commit order, expected revision or contents. */
const TABLE = `
  create table events (
    position bigint generated always as identity primary key,
    stream text collate "C" not null,
    revision integer not null,
    id uuid not null,
    type text collate "C" not null,
    category text collate "C" not null,
    data text not null,
    metadata text not null,
    unique (stream, revision)
  )`;
const COLUMNS = 'stream, revision, id, type, category, data, metadata';
const ONE = { name: 'one', text: `insert into events (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7)` };
const MANY = {
  name: 'many',
  text: `insert into events (${COLUMNS}) select * from unnest(
    $1::text[], $2::integer[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[])`,
};
/** More are slower; the server allows 100 connections in total. */
const CONNECTIONS_MAX = 64;

export interface RawInserts {
  /** Inserts in its own commit. @returns 1. */
  insertOne(append: Append): Promise<number>;
  /** Inserts in one statement and commit. @returns the number of rows. */
  insertMany(append: Append): Promise<number>;
}

const rowsOf = ({ stream, events, context }: Append): readonly (readonly unknown[])[] => {
  const metadata = JSON.stringify(context);
  return events.map(({ id, type, data }, index) => {
    return [stream, index, id, type, 'message', JSON.stringify(data), metadata];
  });
};

/** The maximum rate of `pg` itself: an upper bound for any log that commits each append separately. */
export const openRawInserts = async (closers: Closers, url: string): Promise<RawInserts> => {
  const pool = new Pool({ connectionString: url, max: CONNECTIONS_MAX, application_name: 'raw inserts' });
  pool.on('error', () => undefined); // the next query reports it
  closers.add('raw inserts', () => pool.end());
  await pool.query(TABLE);
  return {
    insertOne: async (append) => {
      await pool.query({ ...ONE, values: [...(rowsOf(append)[0] ?? [])] });
      return 1;
    },
    insertMany: async (append) => {
      const rows = rowsOf(append);
      const columns = rows[0]?.map((_, column) => rows.map((row) => row[column])) ?? [];
      await pool.query({ ...MANY, values: columns });
      return rows.length;
    },
  };
};
