import { Client } from 'pg';
import type { Closers } from '../../src/composition/lifecycle.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { startProgram } from '../../test/support/program.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { guard } from '../harness/guard.ts';
import { interleave } from '../harness/interleave.ts';
import type { Line } from '../harness/line.ts';
import { until } from '../harness/until.ts';

const FLOOR = { of: 'figure', atLeast: 10_000 } as const;
/** Each round is long enough for a steady figure. */
const ROUNDS_MAX = 3;
const SECRET_KEY = 'a secret of nothing, 32 characters or more';
const SECOND_MS = 1_000;

const BEHIND = `
  select (select max(position) from event_log.events)::bigint as head, count(*)::int as projections,
    min(case position when '' then 0 else position::bigint end) as level
  from read_models.checkpoints`;

interface Row {
  readonly head: string;
  readonly projections: number;
  readonly level: string | null;
}

const openClient = async (closers: Closers, url: string): Promise<Client> => {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined); // the database is dropped before the client is closed
  await client.connect();
  closers.add('client', () => client.end());
  return client;
};

const eventsPerSecond = async (
  { closers, postgres, corpus, folder, profiling }: Bench,
  roles: string,
): Promise<number> => {
  const url = await postgres.copiedDatabase(closers, (await corpus()).url);
  const client = await openClient(closers, url);
  await client.query('drop schema read_models cascade');
  const env = { DATABASE_URL: url, SECRET_KEY, ROLES: roles, LOG_LEVEL: 'error' };
  const program = await startProgram({ dataDir: folder, env: { ...env, NODE_OPTIONS: profiling.join(' ') } });
  guard(closers, { pid: program.child.pid ?? 0, signal: 'TERM', folders: [] });
  const look = async () => {
    const { rows } = await client.query<Row>(BEHIND);
    const { head = '0', projections = 0, level = null } = rows[0] ?? {};
    return { head: Number(head), level: projections < PROJECTIONS.length ? 0 : Number(level) };
  };
  const from = await look();
  const beganMs = performance.now();
  const isLevel = async (): Promise<boolean> => {
    const { head, level } = await look();
    return level >= head;
  };
  await until('the read models', isLevel).finally(() => program.end('SIGTERM'));
  const ms = performance.now() - beganMs;
  return ((from.head - from.level) * SECOND_MS) / ms;
};

/**
 * Events per second that read models process when a process starts behind the log of a busy day: with that role alone,
 * and with all roles.
 */
export const catchUp: Measure = {
  name: 'catch-up',
  run: async (bench) => {
    const rounds = Math.min(bench.rounds, ROUNDS_MAX);
    const figures = await interleave(
      { rounds, warmUps: 0 },
      { alone: () => eventsPerSecond(bench, 'projections'), all: () => eventsPerSecond(bench, '') },
    );
    const line = (measure: string, perSecond: readonly number[]): Line => ({
      measure,
      unit: 'events/s',
      rounds: perSecond,
      floor: FLOOR,
    });
    return [
      line('projections behind, drained', figures.alone),
      line('the same in a process with all roles', figures.all),
    ];
  },
};
