import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../test/support/free-port.ts';
import { startNameServer } from '../../test/support/name-server.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { type CpuMeter, createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import { type Line, skippedLine } from '../harness/line.ts';
import { openService } from '../harness/open-service.ts';
import { SENDING_DOMAIN } from '../harness/provision.ts';
import { until } from '../harness/until.ts';
import { isInstalled, openMaildir } from '../peers/postfix.ts';

const run = promisify(execFile);

const MESSAGES = 1_000;
const MESSAGE_BYTES = 10_000;
/** The listener accepts this many from one network. */
const SESSIONS = 20;
/** The highest limit, so that none counts. */
const PER_MINUTE = '10000000';
const SECOND_MS = 1_000;
/** V8 optimizes code during the first ten thousand messages of a process. */
const WARM_UPS = 2;

const SENDER = 'sender.example';
const RECIPIENT = `box@${SENDING_DOMAIN}`;
const MEASURE = 'inbound mail of 10 kB, beside Postfix and a maildir';

/** Records of a domain that may send from here. */
const ZONE = {
  [SENDER]: { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  [`_dmarc.${SENDER}`]: { TXT: ['v=DMARC1; p=none'] },
};

/** The client that comes with Postfix, over kept sessions. It fails if a message is refused. */
const bring = async (port: number, messages: number): Promise<void> => {
  const load = ['-d', '-s', String(SESSIONS), '-m', String(messages), '-l', String(MESSAGE_BYTES)];
  const envelope = ['-M', `mx.${SENDER}`, '-f', `ann@${SENDER}`, '-t', RECIPIENT];
  await run('smtp-source', [...load, ...envelope, `127.0.0.1:${port}`]);
};

interface Receiver {
  readonly port: number;
  readonly cpu: CpuMeter;
  /** Messages that are stored. */
  count(): Promise<number>;
}

const receive = async ({ port, cpu, count }: Receiver): Promise<number> => {
  const before = await count();
  const work = async (): Promise<number> => {
    const beganMs = performance.now();
    await bring(port, MESSAGES);
    await until('all mail', async () => (await count()) - before >= MESSAGES);
    return (MESSAGES * SECOND_MS) / (performance.now() - beganMs);
  };
  return cpu.during(work, () => MESSAGES);
};

const openOurs = async (bench: Bench): Promise<Receiver> => {
  const nameServer = await startNameServer(ZONE);
  bench.closers.add('name server', nameServer.close);
  const port = await freePort();
  const variables = {
    BOUNCE_DOMAIN: `bounces.${SENDING_DOMAIN}`,
    BOUNCE_PORT: String(port),
    DNS_SERVERS: nameServer.text,
    INBOUND_MAX_PER_MINUTE: PER_MINUTE,
    INBOUND_SENDER_MAX_PER_MINUTE: PER_MINUTE,
  };
  const service = await openService(bench, { mailUrl: 'smtp://127.0.0.1:1', variables });
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
  const domains = await fetch(`${service.baseUrl}/v1/domains`, { headers });
  const [domain] = ((await domains.json()) as { readonly data: readonly { readonly id: string }[] }).data;
  const body = JSON.stringify({ inbound: { mx: true } });
  await fetch(`${service.baseUrl}/v1/domains/${domain?.id}`, { method: 'PATCH', headers, body });
  await until('the domain to receive mail', () =>
    bring(port, 1).then(
      () => true,
      () => false,
    ),
  );
  const cpu = createCpuMeter({
    service: { pid: service.pid, children: false },
    PostgreSQL: { pid: await service.postgresPid(), children: true },
  });
  return { port, cpu, count: service.received };
};

const openPostfix = async ({ closers, folder }: Bench): Promise<Receiver> => {
  const { port, pid, count } = await openMaildir(closers, { folder: join(folder, 'maildir'), domain: SENDING_DOMAIN });
  return { port, count, cpu: createCpuMeter({ Postfix: { pid, children: true } }) };
};

/** Mail that is stored, from the first connection on: in the vault and the log, or in a maildir. */
export const inbound: Measure = {
  name: 'inbound',
  run: async (bench): Promise<readonly Line[]> => {
    if (!(await isInstalled('postfix', 'smtp-source')))
      return [skippedLine(MEASURE, 'messages/s', 'postfix is not installed')];
    const [ours, postfix] = [await openOurs(bench), await openPostfix(bench)];
    const figures = await interleave(
      { rounds: bench.rounds, warmUps: WARM_UPS },
      { ours: () => receive(ours), postfix: () => receive(postfix) },
    );
    return [
      {
        measure: MEASURE,
        unit: 'messages/s',
        rounds: figures.ours,
        limit: { what: 'Postfix into a maildir', rounds: figures.postfix },
        floor: { of: 'ratio', atLeast: 0.8 },
        cpuMicros: { ...ours.cpu.lastMicros(bench.rounds), ...postfix.cpu.lastMicros(bench.rounds) },
      },
    ];
  },
};
