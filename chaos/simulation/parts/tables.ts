import { Writable } from 'node:stream';
import type { CopyStreamQuery } from 'pg-copy-streams';
import type { Database } from '../../../src/lib/projections/projections.ts';
import { copiedRows, type Row } from './copied-rows.ts';

type Statement = string | { readonly text: string; readonly values: unknown[] };

/** Rows by key. A transaction's changes appear when it has committed. */
export type Tables = ReadonlyMap<string, Map<string, Row>>;

const TABLES = ['deliveries', 'messages', 'api_keys'] as const;
type Table = (typeof TABLES)[number];

export const createTables = (): Tables => new Map(TABLES.map((name) => [name, new Map<string, Row>()]));

/** A delivery row is identified by message and destination. */
const keyOf = (row: Row): string =>
  row.destination === undefined ? String(row.messageId ?? row.keyId) : `${row.messageId} ${row.destination}`;

const date = (value: unknown): Date | null => (typeof value === 'string' ? new Date(value) : null);

/** Converts a row to the form in which the driver returns it for that table. */
const SHOWN: Readonly<Record<Table, (row: Row) => Row>> = {
  deliveries: (row) => ({
    message_id: row.messageId,
    destination: row.destination,
    environment: row.environment,
    bulk: row.bulk,
    recipients: row.recipients,
    expires_at: date(row.expiresAt),
  }),
  messages: (row) => ({
    message_id: row.messageId,
    recipients: row.recipients,
    created_at: date(row.createdAt),
    expires_at: date(row.expiresAt),
    scheduled_at: date(row.scheduledAt),
  }),
  api_keys: (row) => ({ id: row.keyId, state: row.state }),
};

/** Effects of the projections' statements, matched by the start of their text. */
const STATEMENTS: readonly { readonly begins: RegExp; readonly table: Table; readonly does: Doing }[] = [
  { begins: /^select .* from deliveries/s, table: 'deliveries', does: 'selectParts' },
  { begins: /^insert into deliveries/, table: 'deliveries', does: 'put' },
  { begins: /^delete from deliveries/, table: 'deliveries', does: 'delete' },
  { begins: /^select .* from messages/s, table: 'messages', does: 'select' },
  { begins: /^copy messages/, table: 'messages', does: 'put' },
  { begins: /^update messages/, table: 'messages', does: 'put' },
  { begins: /^copy message_labels/, table: 'messages', does: 'nothing' },
  { begins: /^insert into key_sends/, table: 'messages', does: 'nothing' },
  { begins: /^select .* from api_keys/s, table: 'api_keys', does: 'select' },
  { begins: /^insert into api_keys/, table: 'api_keys', does: 'put' },
];
type Doing = 'select' | 'selectParts' | 'put' | 'delete' | 'nothing';

const statementOf = (text: string) => {
  const found = STATEMENTS.find(({ begins }) => begins.test(text.trimStart()));
  if (found === undefined) throw new Error(`these tables do not know the statement ${text}`);
  return found;
};

const merge = (rows: Map<string, Row> | undefined, written: ReadonlyMap<string, Row | null>): void => {
  for (const [key, row] of written) {
    if (row === null) rows?.delete(key);
    else rows?.set(key, row);
  }
};

/** A transaction on the tables. Nothing is written before `commit`. */
export const begin = (tables: Tables): { readonly db: Database; commit(): void } => {
  const written = createTables() as ReadonlyMap<string, Map<string, Row | null>>;

  const find = (table: Table, key: string): Row | undefined => {
    const own = written.get(table)?.get(key);
    return own === undefined ? tables.get(table)?.get(key) : (own ?? undefined);
  };

  const put = (table: Table, row: Row): void => {
    written.get(table)?.set(keyOf(row), { ...find(table, keyOf(row)), ...row });
  };

  const does: Readonly<Record<Doing, (table: Table, values: readonly unknown[]) => readonly Row[]>> = {
    select: (table, [keys]) =>
      (keys as string[])
        .map((key) => find(table, key))
        .filter((row) => row !== undefined)
        .map(SHOWN[table]),
    selectParts: (table, [ids]) => {
      const keys = new Set([tables, written].flatMap((from) => [...(from.get(table)?.keys() ?? [])]));
      const wanted = new Set(ids as string[]);
      return [...keys]
        .filter((key) => wanted.has(key.split(' ')[0] ?? ''))
        .map((key) => find(table, key))
        .filter((row) => row !== undefined)
        .map(SHOWN[table]);
    },
    put: (table, [records]) => {
      const rows = typeof records === 'string' ? (JSON.parse(records) as Row[]) : (records as Row[]);
      for (const row of rows) put(table, row);
      return [];
    },
    delete: (table, [ids, destinations]) => {
      for (const [at, id] of (ids as string[]).entries()) {
        written.get(table)?.set(`${id} ${(destinations as string[])[at]}`, null);
      }
      return [];
    },
    nothing: () => [],
  };

  const copyInto = (text: string): Writable => {
    const { table, does: doing } = statementOf(text);
    return new Writable({
      decodeStrings: false,
      write: (lines: string, _encoding, done) => {
        does[doing](table, [copiedRows(text, lines)]);
        done();
      },
    });
  };

  const query = (statement: Statement | Writable, values: unknown[] = []) =>
    statement instanceof Writable ? copyInto((statement as CopyStreamQuery).text) : answer(statement, values);

  const answer = async (statement: Statement, values: unknown[]) => {
    const { text, values: given } = typeof statement === 'string' ? { text: statement, values } : statement;
    const { table, does: doing } = statementOf(text);
    // Cloned like values from the driver, so that rows and readers share nothing.
    return { rows: does[doing](table, given).map((row) => structuredClone(row)) };
  };

  return {
    db: { query } as unknown as Database,
    commit: () => {
      for (const [name, rows] of written) merge(tables.get(name), rows);
    },
  };
};
