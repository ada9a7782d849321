import { openTrackingKeys } from '../../src/adapters/secrets/postgres.ts';
import { formatId, ID_BYTES } from '../../src/domain/kernel/ids.ts';
import { clickUrl } from '../../src/domain/tracking/tracking.ts';
import { createInMemorySecrets } from '../../test/support/in-memory/secrets.ts';
import type { Measure } from '../harness/bench.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import { openApi } from '../harness/open-api.ts';
import { drive } from '../load/drive.ts';

const FLOOR = { of: 'figure', atLeast: 5_000 } as const;
const CONNECTIONS = 64;
const SECONDS = 3;
const LINKS = 1_000;
const REDIRECT = 302;
const SECOND_MS = 1_000;
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** `GET /c/:token`, each for another recipient, answered by one process without a query. */
export const redirect: Measure = {
  name: 'redirect',
  run: async (bench) => {
    const { system, rounds } = bench;
    const api = await openApi(bench);
    const server = await api.start('durable');
    const keys = await openTrackingKeys(createInMemorySecrets(), { current: api.secretKey });
    const idOf = (prefix: 'msg' | 'rcp' | 'org'): string => formatId(prefix, system.randomBytes(ID_BYTES));
    const requests = Array.from({ length: LINKS }, () => {
      const link = { messageId: idOf('msg'), recipientId: idOf('rcp'), organizationId: idOf('org'), link: 0, links: 3 };
      const { pathname, search, host } = new URL(clickUrl(keys, server.baseUrl, link, 'https://shop.test/sale?a=1'));
      return Buffer.from(`GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: ${USER_AGENT}\r\n\r\n`);
    });
    const cpu = createCpuMeter({ server: { pid: server.pid, children: false } });

    const follow = async (): Promise<{ readonly followed: number; readonly perSecond: number }> => {
      const url = new URL(server.baseUrl);
      const { statuses, elapsedMs } = await drive({
        url,
        requests,
        connections: CONNECTIONS,
        extent: { seconds: SECONDS },
      });
      const followed = statuses.get(REDIRECT) ?? 0;
      if (statuses.size !== 1 || followed === 0) throw new Error(`not all led on: ${JSON.stringify([...statuses])}`);
      return { followed, perSecond: (followed * SECOND_MS) / elapsedMs };
    };
    const ours = async (): Promise<number> => (await cpu.during(follow, ({ followed }) => followed)).perSecond;
    const figures = await interleave({ rounds, warmUps: 1 }, { ours });
    return [
      {
        measure: `redirect of a tracked link, ${CONNECTIONS} connections`,
        unit: 'requests/s',
        rounds: figures.ours,
        floor: FLOOR,
        cpuMicros: cpu.lastMicros(rounds),
      },
    ];
  },
};
