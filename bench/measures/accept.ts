import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { openChild } from '../harness/child.ts';
import { interleave } from '../harness/interleave.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { provision } from '../harness/provision.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { medianMs } from '../harness/throughput.ts';
import { openRawInserts } from '../peers/raw-inserts.ts';
import { sampleAppends } from '../peers/sample-appends.ts';
import type { ApiServer } from '../processes/api-server.ts';

const FLOOR = { of: 'ratio', atLeast: 0.35 } as const;
const CONNECTIONS = 128;
const BUSY_SECONDS = 3;
const LONE_SECONDS = 2;
const COMMITS_MS = 1_000;
const SECRET_KEY_BYTES = 32;

interface Facts {
  readonly baseUrl: string;
}

const openServer = async ({ closers, profiling }: Bench, input: ApiServer): Promise<string> => {
  const child = await openChild<Facts>(closers, { name: 'api-server', input, execArgv: profiling });
  return child.facts.baseUrl;
};

const provisioned = async (databaseUrl: string, secretKey: string): Promise<string> => {
  const operator = await openOperator(readConfig({ DATABASE_URL: databaseUrl, SECRET_KEY: secretKey }));
  return provision(operator.context).finally(operator.close);
};

/** `POST /v1/messages/send` beside the very same server whose append and contents are a resolved promise. */
export const accept: Measure = {
  name: 'accept',
  run: async (bench) => {
    const { closers, postgres, rounds, system } = bench;
    const databaseUrl = await postgres.migratedDatabase(closers);
    const secretKey = Buffer.from(system.randomBytes(SECRET_KEY_BYTES)).toString('hex');
    const key = await provisioned(databaseUrl, secretKey);
    const durable = await openServer(bench, { databaseUrl, secretKey, storage: 'durable' });
    const dropping = await openServer(bench, { databaseUrl, secretKey, storage: 'none' });
    const load = await openHttpLoad(closers);
    const raw = await openRawInserts(closers, await postgres.emptyDatabase(closers));
    const samples = sampleAppends(system);

    const busy = (baseUrl: string) => async (): Promise<number> => {
      const extent = { seconds: BUSY_SECONDS };
      return (await load({ baseUrl, key, bodies: SAMPLE_REQUESTS, connections: CONNECTIONS, extent })).perSecond;
    };
    const lone = (baseUrl: string) => async (): Promise<number> => {
      const extent = { seconds: LONE_SECONDS };
      return (await load({ baseUrl, key, bodies: SAMPLE_REQUESTS, connections: 1, extent })).p50Ms;
    };
    const commit = (): Promise<number> => medianMs({ ms: COMMITS_MS, work: () => raw.insertOne(samples.next(1)) });

    const many = await interleave({ rounds, warmUps: 1 }, { ours: busy(durable), limit: busy(dropping) });
    const one = await interleave(
      { rounds, warmUps: 1 },
      { ours: lone(durable), limit: commit, dropping: lone(dropping) },
    );
    return [
      {
        ...{ measure: `accept, ${CONNECTIONS} connections`, unit: 'requests/s', rounds: many.ours, floor: FLOOR },
        limit: { what: 'the same without storage', rounds: many.limit },
      },
      {
        ...{ measure: 'accept, 1 connection, p50', unit: 'ms', rounds: one.ours },
        limit: { what: 'pg, one commit', rounds: one.limit },
      },
      {
        ...{ measure: 'accept, 1 connection, p50', unit: 'ms', rounds: one.ours },
        limit: { what: 'the same without storage', rounds: one.dropping },
      },
    ];
  },
};
