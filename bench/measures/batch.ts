import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import type { Measure } from '../harness/bench.ts';
import { openChild } from '../harness/child.ts';
import { interleave } from '../harness/interleave.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { provision } from '../harness/provision.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import type { ApiServer } from '../processes/api-server.ts';

/** A batch is there to be quicker than its messages one by one. */
const FLOOR = { of: 'ratio', atLeast: 2 } as const;
const BATCH_MESSAGES = 100;
/** Enough for either to find work whenever it looks for some. */
const BATCH_CONNECTIONS = 4;
const SEND_CONNECTIONS = 128;
const SECONDS = 3;
const SECRET_KEY_BYTES = 32;

interface Facts {
  readonly baseUrl: string;
}

const BATCH = `{"messages":[${Array.from({ length: BATCH_MESSAGES }, (_, index) => SAMPLE_REQUESTS[index % SAMPLE_REQUESTS.length]).join(',')}]}`;

/** Messages a second by `POST /v1/messages/batch`, beside the same server taking them one by one. */
export const batch: Measure = {
  name: 'batch',
  run: async ({ closers, postgres, rounds, system, profiling }) => {
    const databaseUrl = await postgres.migratedDatabase(closers);
    const secretKey = Buffer.from(system.randomBytes(SECRET_KEY_BYTES)).toString('hex');
    const operator = await openOperator(readConfig({ DATABASE_URL: databaseUrl, SECRET_KEY: secretKey }));
    const key = await provision(operator.context).finally(operator.close);
    const input: ApiServer = { databaseUrl, secretKey, storage: 'durable' };
    const server = await openChild<Facts>(closers, { name: 'api-server', input, execArgv: profiling });
    const { baseUrl } = server.facts;
    const load = await openHttpLoad(closers);
    const extent = { seconds: SECONDS };

    const inBatches = async (): Promise<number> => {
      const path = '/v1/messages/batch';
      const answered = await load({ baseUrl, key, path, bodies: [BATCH], connections: BATCH_CONNECTIONS, extent });
      return answered.perSecond * BATCH_MESSAGES;
    };
    const oneByOne = async (): Promise<number> =>
      (await load({ baseUrl, key, bodies: SAMPLE_REQUESTS, connections: SEND_CONNECTIONS, extent })).perSecond;

    const found = await interleave({ rounds, warmUps: 1 }, { ours: inBatches, limit: oneByOne });
    return [
      {
        ...{ measure: `accept in batches of ${BATCH_MESSAGES}`, unit: 'messages/s', rounds: found.ours, floor: FLOOR },
        limit: { what: 'the same one by one', rounds: found.limit },
      },
    ];
  },
};
