import type { Bench } from './bench.ts';
import { type CpuMeter, type CpuMicros, createCpuMeter } from './cpu.ts';
import { watchMemory } from './memory.ts';
import { openHttpLoad } from './open-http-load.ts';
import { openService, type Service, type ServiceOptions } from './open-service.ts';
import { openSmtpSink } from './open-smtp-sink.ts';
import { budgetOf, createRecorder } from './recorder.ts';
import { SAMPLE_REQUESTS } from './sample-requests.ts';
import { until } from './until.ts';

const MESSAGES_DEFAULT = 5_000;
const CONNECTIONS = 64;
const SECOND_MS = 1_000;

/** Result of sending messages as fast as they are accepted. */
export interface Passage {
  readonly messages: number;
  /** Rate from the first request to the last outcome in the log. */
  readonly perSecond: number;
  readonly acceptedPerSecond: number;
  /** Further seconds until all read models are up to date. */
  readonly drainSeconds: number;
  readonly mostMb: number;
}

export interface Way {
  readonly service: Service;
  readonly sinkPort: number;
  readonly cpu: CpuMeter;
  /** Sends messages and waits until at most `behindMax` have not reached the mail server. */
  keepUp(messages: number, behindMax: number): Promise<void>;
  /** Sends the messages of a pass and waits until no work on them remains. */
  pass(): Promise<Passage>;
  /** Records what the service does during work. @returns what its recorder wrote. */
  record(work: () => Promise<unknown>): Promise<unknown>;
  /** Processor time of the service for one such message, by stage. */
  budget(): Promise<CpuMicros>;
}

export type WayOptions = Omit<ServiceOptions, 'mailUrl'> & {
  /** Messages of a pass. */
  readonly messages?: number;
};

/** The whole program in one process, sending to a mail server that accepts everything. */
export const openWay = async (
  bench: Bench,
  { messages = MESSAGES_DEFAULT, ...options }: WayOptions = {},
): Promise<Way> => {
  const { closers, folder } = bench;
  const recorder = options.recorder ?? createRecorder(folder, 'processor time');
  const sink = await openSmtpSink(closers);
  const service = await openService(bench, { ...options, mailUrl: sink.url, recorder });
  const load = await openHttpLoad(closers);
  const { baseUrl, key } = service;
  const cpu = createCpuMeter({
    service: { pid: service.pid, children: false },
    PostgreSQL: { pid: await service.postgresPid(), children: true },
    'mail server': { pid: sink.pid, children: false },
    load: { pid: load.pid, children: false },
  });

  let sent = 0;
  const send = (amount: number) => {
    sent += amount;
    return load.run({ baseUrl, key, bodies: SAMPLE_REQUESTS, connections: CONNECTIONS, extent: { amount } });
  };

  /** Polls the log only after the mail has left, to keep polling cheap. */
  const delivered = async (from: { readonly position: string; readonly mails: number }): Promise<void> => {
    await until('all mail at the other side', async () => (await sink.count()) - from.mails >= messages);
    await until('all outcomes in the log', async () => (await service.outcomesAfter(from.position)) >= messages);
  };
  const { signs = false } = options;
  const sendAll = async () => {
    const from = { position: await service.head(), mails: await sink.count() };
    const beganMs = performance.now();
    const sending = send(messages);
    await Promise.all([sending, delivered(from)]);
    const perSecond = (messages * SECOND_MS) / (performance.now() - beganMs);
    const signed = await sink.takeSigned();
    if (signs ? signed < messages : signed > 0) throw new Error(`${signed} of ${messages} messages were signed`);
    return { perSecond, acceptedPerSecond: (await sending).perSecond };
  };
  const drain = async (): Promise<number> => {
    const beganMs = performance.now();
    const head = await service.head();
    await until('the read models', async () => (await service.projected()) >= head);
    return (performance.now() - beganMs) / SECOND_MS;
  };

  return {
    keepUp: async (amount, behindMax) => {
      await send(amount);
      await until('most mail at the other side', async () => sent - (await sink.count()) <= behindMax);
    },
    service,
    cpu,
    sinkPort: sink.port,
    record: (work) => recorder.during(service.pid, work),
    budget: () => budgetOf(recorder, service.pid, sendAll, () => messages),
    pass: async () => {
      const passing = cpu.during(sendAll, () => messages);
      const { result, mostMb } = await watchMemory(service.pid, passing);
      return { ...result, messages, drainSeconds: await drain(), mostMb };
    },
  };
};
