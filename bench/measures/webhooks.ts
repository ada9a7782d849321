import { Client } from 'pg';
import { startProgram } from '../../test/support/program.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { openChild } from '../harness/child.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { guard } from '../harness/guard.ts';
import { interleave } from '../harness/interleave.ts';
import { type Api, openApi } from '../harness/open-api.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { registerWebhook } from '../harness/register-webhook.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { throughput } from '../harness/throughput.ts';
import { until } from '../harness/until.ts';
import { openBarePosts } from '../peers/bare-posts.ts';

const FLOOR = { of: 'figure', atLeast: 1_500 } as const;
const ENDPOINTS = 4;
/** Posts per round. */
const POSTS = 8_000;
const CONNECTIONS = 64;
const BARE_MS = 1_000;
const SECOND_MS = 1_000;

const RECORDED = `
  select count(*)::int as count from vault.webhook_tries
  join vault.webhook_deliveries on id = delivery_id where state = 'delivered'`;

const openCount = async ({ closers }: Bench, url: string): Promise<() => Promise<number>> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  closers.add('count of tries', () => client.end());
  return async () => (await client.query<{ count: number }>(RECORDED)).rows[0]?.count ?? 0;
};

/** Starts the program with the role `workers`, which finds all pending deliveries at its start. */
const startWorker = async ({ closers, folder, profiling }: Bench, api: Api) => {
  const env = {
    DATABASE_URL: api.databaseUrl,
    SECRET_KEY: api.secretKey,
    ROLES: 'workers',
    LOG_LEVEL: 'error',
    NODE_OPTIONS: profiling.join(' '),
  };
  const program = await startProgram({ dataDir: folder, env });
  const pid = program.child.pid ?? 0;
  guard(closers, { pid, signal: 'TERM', folders: [] });
  return { pid, end: () => program.end('SIGTERM') };
};

const measureWith = async (bench: Bench, endpoints: number) => {
  const { closers, rounds, postgres, system } = bench;
  const receiver = await openChild<{ readonly port: number }>(closers, { name: 'webhook-receiver' });
  const url = `http://127.0.0.1:${receiver.facts.port}/`;
  const api = await openApi(bench);
  const { baseUrl } = await api.start('durable');
  for (let made = 0; made < endpoints; made += 1)
    await registerWebhook(api.key, { apiUrl: baseUrl, url: `${url}${made}` });
  const load = await openHttpLoad(closers);
  const recorded = await openCount(bench, api.databaseUrl);
  const bare = openBarePosts(closers, { url, system });
  const cpus: ReturnType<ReturnType<typeof createCpuMeter>['lastMicros']>[] = [];

  const ours = async (): Promise<number> => {
    const before = await recorded();
    const extent = { amount: POSTS / endpoints };
    await load.run({ baseUrl, key: api.key, bodies: SAMPLE_REQUESTS, connections: CONNECTIONS, extent });
    await receiver.ask('takeFirstMs');
    const worker = await startWorker(bench, api);
    const cpu = createCpuMeter({
      worker: { pid: worker.pid, children: false },
      PostgreSQL: { pid: postgres.pid, children: true },
      receiver: { pid: receiver.pid, children: false },
    });
    const posted = () => until('all tries recorded', async () => (await recorded()) - before >= POSTS);
    await cpu.during(posted, () => POSTS).finally(worker.end);
    const endMs = performance.timeOrigin + performance.now();
    cpus.push(cpu.lastMicros(1));
    const firstMs = await receiver.ask<number | null>('takeFirstMs');
    return (POSTS * SECOND_MS) / (endMs - (firstMs ?? Number.NaN));
  };
  const limit = (): Promise<number> => throughput({ concurrency: bare.connections, ms: BARE_MS, work: bare.post });
  return { ...(await interleave({ rounds, warmUps: 0 }, { ours, limit })), cpuMicros: cpus.at(-1) ?? {} };
};

/** Posting and recording a backlog by the worker role, from the first post to the last record. */
export const webhooks: Measure = {
  name: 'webhooks',
  run: async (bench) => {
    const many = await measureWith(bench, ENDPOINTS);
    const one = await measureWith(bench, 1);
    const what = 'undici, signed, unrecorded';
    return [
      {
        measure: `webhook posts recorded, ${ENDPOINTS} endpoints`,
        unit: 'posts/s',
        rounds: many.ours,
        limit: { what, rounds: many.limit },
        floor: FLOOR,
        cpuMicros: many.cpuMicros,
      },
      {
        measure: 'webhook posts recorded, 1 endpoint',
        unit: 'posts/s',
        rounds: one.ours,
        limit: { what, rounds: one.limit },
        cpuMicros: one.cpuMicros,
      },
    ];
  },
};
