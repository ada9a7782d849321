import { Pool } from 'pg';
import { createPostgresRetention } from '../../src/adapters/retention/postgres.ts';
import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import { createReadModels } from '../../src/projections/read-models.ts';
import { expireContents } from '../../src/workers/retention/expire-contents.ts';
import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { openApi } from '../harness/open-api.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';

/** Maximum ratio of the 95th percentile of accepting during an expiry to that without one. */
const FLOOR = { of: 'ratio', atMost: 1.5 } as const;
const SENDS = 400;
const CONNECTIONS = 8;
/** Ten batches, enough to last as long as the sends. */
const OLD = 5_000;
const ACCEPTED = 202;

const FILL = `
  insert into vault.contents (id, organization_id, kind, message_id, body, created_at)
  select gen_random_uuid(), (select organization_id from vault.secrets where organization_id like 'org_%' limit 1), 'reply',
    'msg_old', json_build_object('kind', 'reply', 'messageId', 'msg_old', 'text', repeat(md5(n::text), 100)),
    now() - interval '31 days'
  from generate_series(1, ${OLD}) n`;

/** Time to accept a send while thousands of old contents expire. */
export const retention: Measure = {
  name: 'retention',
  run: async (bench) => {
    const { closers, system } = bench;
    const api = await openApi(bench);
    const { baseUrl } = await api.start('durable');
    const operator = await openOperator(readConfig({ DATABASE_URL: api.databaseUrl, SECRET_KEY: api.secretKey }));
    closers.add('operator', operator.close);
    const pool = new Pool({ connectionString: api.databaseUrl, max: 2 });
    closers.add('retention pool', () => pool.end());
    const { store } = operator.context;

    const sendOne = async (): Promise<number> => {
      const beganMs = performance.now();
      const { status } = await fetch(`${baseUrl}/v1/messages/send`, {
        method: 'POST',
        headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
        body: SAMPLE_REQUESTS[0] ?? '',
      });
      if (status !== ACCEPTED) throw new Error(`answered ${status}`);
      return performance.now() - beganMs;
    };

    const alone = async (): Promise<number> => {
      const took: number[] = [];
      const lane = async (): Promise<void> => {
        while (took.length < SENDS) took.push(await sendOne());
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, lane));
      return took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.95)] ?? Number.NaN;
    };

    const beside = async (): Promise<number> => {
      const { rows } = await pool.query<{ id: string }>('select distinct organization_id as id from vault.secrets');
      await pool.query(FILL);
      const stopping = new AbortController();
      let expired = 0;
      const expiring = expireContents({
        retention: createPostgresRetention({ pool }),
        messageStatuses: createReadModels({ pool, store, system }).messages.statuses,
        organizations: new Map(rows.filter(({ id }) => id !== '').map(({ id }) => [id, null])),
        caughtUp: Promise.resolve(),
        store,
        contents: { get: async () => new Map() },
        leadership: { isLeader: () => true },
        system,
        onExpired: (count) => {
          expired += count;
        },
      })(stopping.signal, () => stopping.abort());
      const figure = await alone();
      await expiring;
      if (expired !== OLD) throw new Error(`${expired} of ${OLD} contents expired`);
      return figure;
    };

    const rounds = await interleave({ rounds: bench.rounds, warmUps: 1 }, { alone, beside });
    return [
      {
        measure: `accept, p95, while ${OLD} contents expire`,
        unit: 'ms',
        rounds: rounds.beside,
        limit: { what: 'without expiry', rounds: rounds.alone },
        floor: FLOOR,
      },
    ];
  },
};
