import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { watchMemory } from '../harness/memory.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { openService, type Service } from '../harness/open-service.ts';
import { openSmtpSink, type SmtpSink } from '../harness/open-smtp-sink.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { openNodemailerPool } from '../peers/nodemailer-pool.ts';

const FLOOR = { of: 'figure', atLeast: 800 } as const;
const MEMORY_FLOOR = { of: 'figure', atMost: 400 } as const;
const MESSAGES = 5_000;
const PEER_MESSAGES = 3_000;
const CONNECTIONS = 64;
/** Far above what any run needs: then something is stuck. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 50;
const SECOND_MS = 1_000;

const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await sleep(LOOK_EVERY_MS);
  }
};

/** Until all have an outcome in the log. The log is asked only once the mail has left, so that asking costs little. */
const delivered = async (service: Service, sink: SmtpSink, from: { position: string; mails: number }) => {
  await until('all mail at the other side', async () => (await sink.count()) - from.mails >= MESSAGES);
  await until('all outcomes in the log', async () => (await service.outcomesAfter(from.position)) >= MESSAGES);
};

/** From the request to the outcome in the log, by the whole program in one process, into a server that takes all. */
export const endToEnd: Measure = {
  name: 'end-to-end',
  run: async (bench: Bench) => {
    const { closers, rounds } = bench;
    const sink = await openSmtpSink(closers);
    const service = await openService(bench, sink.url);
    const load = await openHttpLoad(closers);
    const peer = openNodemailerPool(closers, sink.port);
    const drains: number[] = [];
    const memory: number[] = [];
    const accepting: number[] = [];

    const sendAll = async (): Promise<number> => {
      const from = { position: await service.head(), mails: await sink.count() };
      const beganMs = performance.now();
      const { baseUrl, key } = service;
      const sending = load({
        ...{ baseUrl, key, bodies: SAMPLE_REQUESTS, connections: CONNECTIONS },
        extent: { amount: MESSAGES },
      });
      await Promise.all([sending, delivered(service, sink, from)]);
      accepting.push((await sending).perSecond);
      return performance.now() - beganMs;
    };
    const drain = async (): Promise<number> => {
      const beganMs = performance.now();
      const head = await service.head();
      await until('the read models', async () => (await service.projected()) >= head);
      return (performance.now() - beganMs) / SECOND_MS;
    };
    const ours = async (): Promise<number> => {
      const { result: ms, mostMb } = await watchMemory(service.pid, sendAll());
      drains.push(await drain());
      memory.push(mostMb);
      return (MESSAGES * SECOND_MS) / ms;
    };
    const samples = Array.from(
      { length: PEER_MESSAGES },
      (_, index) => SAMPLE_REQUESTS[index % SAMPLE_REQUESTS.length] ?? '',
    );
    const alone = async (): Promise<number> => {
      const beganMs = performance.now();
      await peer(samples);
      return (PEER_MESSAGES * SECOND_MS) / (performance.now() - beganMs);
    };

    const figures = await interleave({ rounds, warmUps: 1 }, { ours, limit: alone });
    const counted = (values: readonly number[]): readonly number[] => values.slice(-rounds);
    return [
      {
        ...{ measure: 'end to end, outcomes in the log', unit: 'messages/s', rounds: figures.ours, floor: FLOOR },
        limit: { what: "nodemailer's pool alone", rounds: figures.limit },
      },
      { measure: 'end to end, accepted meanwhile', unit: 'requests/s', rounds: counted(accepting) },
      { measure: 'end to end, then until read models are level', unit: 's', rounds: counted(drains) },
      { measure: 'end to end, most memory', unit: 'MB', rounds: [Math.max(...memory)], floor: MEMORY_FLOOR },
    ];
  },
};
