import pg from 'pg';
import { describe, expect, inject, test } from 'vitest';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { AppendOutcomeUnknown } from '../../../src/lib/event-log/event-log.ts';
import { appendFailure, readFailure } from '../../../src/lib/event-log/postgres-read.ts';
import { orUnavailable } from '../../../src/lib/postgres/pool.ts';

/** The error of a query, or of a connection attempt, on the real server. */
const failureOf = async (text: string, config: pg.ClientConfig = {}): Promise<unknown> => {
  const client = new pg.Client({ connectionString: inject('postgresUrl'), ...config });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.query(text).then(
      () => undefined,
      (error: unknown) => error,
    );
  } catch (error) {
    return error;
  } finally {
    await client.end();
  }
};

const raised = (sqlstate: string): string => `do $$ begin raise 'said so' using errcode = '${sqlstate}'; end $$`;

/** The errors that the vault and the log report for it. */
const told = (error: unknown): Promise<readonly unknown[]> =>
  Promise.all([orUnavailable(Promise.reject(error)).catch((reason: unknown) => reason), readFailure(error)]);

describe('a database that cannot serve at present is unavailable, to the vault and the log alike', () => {
  test.each([
    ['a lost session', 'select pg_terminate_backend(pg_backend_pid())', {}],
    ['a statement that took too long', 'select pg_sleep(5)', { statement_timeout: 50 }],
    ['an answer that took too long', 'select pg_sleep(1)', { query_timeout: 50 }],
    ['a standby', 'begin read only; create table no_table (id integer)', {}],
    ['a deadlock', raised('40P01'), {}],
    ['no free connection', raised('53300'), {}],
    ['a database that accepts none', raised('55000'), {}],
    ['a disk that fails', raised('58030'), {}],
    ['nobody at the address', 'select 1', { connectionString: 'postgres://nobody@127.0.0.1:1/none' }],
    ['no socket in the folder', 'select 1', { connectionString: 'postgres:///none?host=/no/such/folder' }],
  ])('%s', async (_, text, config) => {
    for (const error of await told(await failureOf(text, config))) expect(error).toBeInstanceOf(StoreUnavailable);
  });
});

describe('any other fault is unchanged', () => {
  test.each([
    ['a wrong statement', 'select from from'],
    ['wrong data', `select 'x'::integer`],
    ['a broken constraint', raised('23505')],
  ])('%s', async (_, text) => {
    const error = await failureOf(text);
    expect(error).toBeInstanceOf(pg.DatabaseError);
    expect(await told(error)).toEqual([error, error]);
  });

  test('something thrown that is not an error of the database', async () => {
    const error = new TypeError('x is not a function');
    expect(await told(error)).toEqual([error, error]);
    expect(await told(undefined)).toEqual([undefined, undefined]);
  });
});

describe('whether an append was written', () => {
  test.each([
    ['a lost session', 'select pg_terminate_backend(pg_backend_pid())', {}],
    ['a connection that failed', raised('08006'), {}],
    ['a server that shuts down', raised('57P01'), {}],
    ['a disk that fails', raised('58030'), {}],
    ['no answer in time', 'select pg_sleep(1)', { query_timeout: 50 }],
  ])('is unknown after %s', async (_, text, config) => {
    const error = await failureOf(text, config);
    const reported = appendFailure(error);
    expect(reported).toBeInstanceOf(AppendOutcomeUnknown);
    expect(reported).toMatchObject({ cause: error });
  });

  test.each([
    ['a deadlock', '40P01'],
    ['no free connection', '53300'],
  ])('is known after %s: it was not, and may be soon', async (_, sqlstate) => {
    expect(appendFailure(await failureOf(raised(sqlstate)))).toBeInstanceOf(StoreUnavailable);
  });

  test('is known after a broken constraint: it was not', async () => {
    const error = await failureOf(raised('23505'));
    expect(error).toBeInstanceOf(pg.DatabaseError);
    expect(appendFailure(error)).toBe(error);
  });
});
