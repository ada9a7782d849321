import { setTimeout as sleep } from 'node:timers/promises';
import { createClosers } from '../../src/composition/lifecycle.ts';
import { LOG_START } from '../../src/domain/kernel/event-store.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import type { Line } from '../harness/line.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { openService } from '../harness/open-service.ts';
import { openSmtpSink } from '../harness/open-smtp-sink.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { until } from '../harness/until.ts';

const CONNECTIONS = [1, 5, 20, 100] as const;
/** The service is killed when its mail server has this many. */
const DELIVERED = 300;
/** More than are delivered before the crash, so that clients still send. */
const MESSAGES = 20_000;
/** Commits and SMTP commands that were under way when the process died have reached their servers by then. */
const SETTLED_MS = 1_000;

/** Kills a service under load. @returns messages that its mail server has and the log has not: they are sent again. */
const crash = async (bench: Bench, connections: number): Promise<number> => {
  const closers = createClosers(bench.logger);
  try {
    const sink = await openSmtpSink(closers);
    const service = await openService({ ...bench, closers }, { mailUrl: sink.url });
    const postgres = await service.postgresPid();
    closers.add('database that outlives the service', async () => void process.kill(postgres, 'SIGQUIT'));
    const load = await openHttpLoad(closers);
    const { baseUrl, key } = service;
    const sending = load.run({ baseUrl, key, bodies: SAMPLE_REQUESTS, connections, extent: { amount: MESSAGES } });
    sending.catch(() => undefined); // the service dies
    await until('deliveries before the crash', async () => (await sink.count()) >= DELIVERED);
    process.kill(service.pid, 'SIGKILL');
    await sleep(SETTLED_MS);
    return (await sink.count()) - (await service.outcomesAfter(LOG_START));
  } finally {
    await closers.closeAll();
  }
};

/** Measures how many messages a crash of the service sends again. */
export const crashes: Measure = {
  name: 'crashes',
  run: async (bench) => {
    const lines: Line[] = [];
    for (const connections of CONNECTIONS) {
      const rounds: number[] = [];
      for (let round = 0; round < bench.rounds; round += 1) rounds.push(await crash(bench, connections));
      lines.push({ measure: `sent again after kill -9, ${connections} clients`, unit: 'messages', rounds });
    }
    return lines;
  },
};
