import { copyLog } from '../../src/composition/copy-log.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import type { Contents } from '../../src/domain/ports/contents.ts';
import { createEventStoreDbEventStore } from '../../src/lib/event-log/eventstoredb.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { RUNNER_CONNECTIONS, rebuild } from '../../src/projections/runner.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { openChild } from '../harness/child.ts';
import { type Line, median } from '../harness/line.ts';
import { openApi } from '../harness/open-api.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import type { ServiceOptions } from '../harness/open-service.ts';
import { openStore } from '../harness/open-store.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { openWay, type Passage } from '../harness/send-through.ts';
import type { DoubleInput } from '../processes/eventstoredb-double.ts';

/** Costs of a real node with two busy cores. */
const COSTS = { readsAtOnce: 8, scannedPerSecond: 30_000 } as const;
/** Latency to a nearby node and to another site. */
const CALLS_MS = [2, 30];
/** V8 optimizes code during the first ten thousand messages of a process. */
const WARM_UPS = 2;
const ROUNDS_MAX = 3;
const CORPUS_EVENTS = 20_000;
const SECOND_MS = 1_000;
const CONNECTIONS = 128;
const ACCEPT_SECONDS = 2;

const ACCEPT_FLOOR = { of: 'figure', atLeast: 1_000 } as const;
const DELIVER_FLOOR = { of: 'figure', atLeast: 400 } as const;
const COPY_FLOOR = { of: 'figure', atLeast: 2_000 } as const;
const REBUILD_FLOOR = { of: 'figure', atLeast: 8_000 } as const;
const SERVICE_TIME = { of: 'ratio', atMost: 1.5 } as const;

const noContents: Contents = { put: async () => {}, get: async () => new Map(), heads: async () => new Map() };

type Log = NonNullable<ServiceOptions['log']>;

/** Sends to a process with only the role `api`, while nothing is delivered. @returns requests per second, by round. */
const acceptAlone = async (bench: Bench, log?: Log): Promise<readonly number[]> => {
  const api = await openApi(bench, log?.url);
  const { baseUrl } = await api.start('durable');
  const load = await openHttpLoad(bench.closers);
  const request = { baseUrl, key: api.key, bodies: SAMPLE_REQUESTS, connections: CONNECTIONS };
  const rounds: number[] = [];
  for (let round = -1; round < Math.min(bench.rounds, ROUNDS_MAX); round += 1) {
    rounds.push((await load.run({ ...request, extent: { seconds: ACCEPT_SECONDS } })).perSecond);
  }
  return rounds.slice(1);
};

const openLog = async ({ closers }: Bench, callMs: number): Promise<Log> => {
  const input: DoubleInput = { ...COSTS, callMs };
  const child = await openChild<{ readonly url: string }>(closers, { name: 'eventstoredb-double', input });
  return { url: child.facts.url, outcomesAfter: (position) => child.ask<number>('outcomesAfter', position) };
};

interface PassageResult {
  readonly passages: readonly Passage[];
  /** Processor time of the service per message. */
  readonly serviceMicros: number;
}

const passThrough = async (bench: Bench, log: Log | undefined): Promise<PassageResult> => {
  const way = await openWay(bench, log === undefined ? {} : { log });
  const rounds = Math.min(bench.rounds, ROUNDS_MAX);
  const passages: Passage[] = [];
  for (let round = -WARM_UPS; round < rounds; round += 1) passages.push(await way.pass());
  return { passages: passages.slice(-rounds), serviceMicros: way.cpu.lastMicros(rounds).service ?? Number.NaN };
};

const perSecond = async (work: () => Promise<number>): Promise<number> => {
  const beganMs = performance.now();
  const events = await work();
  return (events * SECOND_MS) / (performance.now() - beganMs);
};

/** Copies a log there and rebuilds the read models from it. */
const measureLog = async (bench: Bench, callMs: number): Promise<readonly Line[]> => {
  const { closers, logger, system, postgres } = bench;
  const { url } = await openLog(bench, callMs);
  const options = {
    connectionString: url,
    setting: 'EVENTSTORE_URL',
    codec: eventCodec,
    contents: noContents,
    system,
    logger,
  };
  const target: EventStore = createEventStoreDbEventStore(options);
  closers.add('event store', target.close);
  const source = await openStore(bench, closers, (await bench.corpus(CORPUS_EVENTS)).url);
  const database = await postgres.migratedDatabase(closers);
  const pool = createPool({ url: database, name: 'bench', logger, max: RUNNER_CONNECTIONS, statementTimeoutMs: 0 });
  closers.add('rebuild pool', () => pool.end());
  const copied = await perSecond(async () => (await copyLog({ source, target, targetKeepsOrder: true, pool })).events);
  const rebuilt = await perSecond(async () => {
    const all = await rebuild({ pool, store: target, logger }, PROJECTIONS);
    return Math.max(...all.map(({ events }) => events));
  });
  const at = `EventStoreDB ${callMs} ms away`;
  return [
    { measure: `log copy to ${at}`, unit: 'events/s', rounds: [copied], floor: COPY_FLOOR },
    { measure: `rebuilding read models from ${at}`, unit: 'events/s', rounds: [rebuilt], floor: REBUILD_FLOOR },
  ];
};

/**
 * The whole program with its log on a server whose calls, reads and scans take time, compared with the log in
 * PostgreSQL.
 */
export const eventStoreDb: Measure = {
  name: 'eventstoredb',
  run: async (bench) => {
    const lines: Line[] = [];
    const aloneInPostgres = await acceptAlone(bench);
    const beside = await passThrough(bench, undefined);
    for (const callMs of CALLS_MS) {
      const { passages, serviceMicros } = await passThrough(bench, await openLog(bench, callMs));
      const at = `EventStoreDB ${callMs} ms away`;
      const inPostgres = (of: (passage: Passage) => number) => ({
        what: 'log in PostgreSQL',
        rounds: [median(beside.passages.map(of))],
      });
      lines.push(
        {
          measure: `accepted while nothing delivers, ${at}`,
          unit: 'requests/s',
          floor: ACCEPT_FLOOR,
          rounds: await acceptAlone(bench, await openLog(bench, callMs)),
          limit: { what: 'log in PostgreSQL', rounds: aloneInPostgres },
        },
        {
          measure: `end to end, ${at}`,
          unit: 'messages/s',
          floor: DELIVER_FLOOR,
          rounds: passages.map((passage) => passage.perSecond),
          limit: inPostgres((passage) => passage.perSecond),
        },
        {
          measure: `accepted at the same time, ${at}`,
          unit: 'requests/s',
          rounds: passages.map((passage) => passage.acceptedPerSecond),
          limit: inPostgres((passage) => passage.acceptedPerSecond),
        },
        {
          measure: `service time of a message, ${at}`,
          unit: 'µs',
          rounds: [serviceMicros],
          floor: SERVICE_TIME,
          limit: { what: 'log in PostgreSQL', rounds: [beside.serviceMicros] },
        },
        ...(await measureLog(bench, callMs)),
      );
    }
    return lines;
  },
};
