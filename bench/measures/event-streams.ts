import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import { READERS_PER_KEY_MAX } from '../../src/http/resources/events/event-stream.ts';
import { mapConcurrently } from '../../src/lib/async/async.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import { createProjectionRunner, RUNNER_CONNECTIONS } from '../../src/projections/runner.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { residentMb, watchMemory } from '../harness/memory.ts';
import { openApi } from '../harness/open-api.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { until } from '../harness/until.ts';

const STREAMS = 2_000;
/** The limit of one key. */
const STREAMS_PER_KEY = READERS_PER_KEY_MAX;
/** Allows all streams to open within a minute. */
const READS_PER_MINUTE = 1_000_000;
const OPENING = 50;
const MESSAGES = 20;
const REST_MS = 5_000;
const MEMORY_FLOOR = { of: 'figure', atMost: 150 } as const;
/** Far below one query per stream. */
const QUERIES_FLOOR = { of: 'figure', atMost: 20 } as const;

const EVENT = 'event: message.accepted\n';

interface Stream {
  readonly socket: Socket;
  /** Number of events received so far. */
  shown(): number;
}

/** Counts events without keeping them. */
const openStream = async (url: URL, key: string): Promise<Stream> => {
  const socket = connect({ host: url.hostname, port: Number(url.port) });
  let shown = 0;
  let rest = '';
  const opened = Promise.withResolvers<void>();
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const text = rest + chunk;
    if (text.includes('retry: ')) opened.resolve();
    shown += text.split(EVENT).length - 1;
    rest = text.slice(Math.max(text.lastIndexOf(EVENT) + 1, text.length - EVENT.length + 1));
  });
  socket.on('error', opened.reject);
  await once(socket, 'connect');
  socket.write(
    `GET /v1/events HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${key}\r\naccept: text/event-stream\r\n\r\n`,
  );
  await opened.promise;
  return { socket, shown: () => shown };
};

/** Creates another key of the same organization. */
const makeKey = async (baseUrl: string, key: string): Promise<string> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const domains = (await (await fetch(`${baseUrl}/v1/domains`, { headers })).json()) as {
    readonly data: readonly { readonly id: string }[];
  };
  const body = JSON.stringify({
    name: 'reader',
    domain_id: domains.data[0]?.id,
    permissions: ['read'],
    rate_limits: { read: READS_PER_MINUTE },
  });
  const made = (await (await fetch(`${baseUrl}/v1/api-keys`, { method: 'POST', headers, body })).json()) as {
    readonly key: string;
  };
  return made.key;
};

/** Builds the read models that streams use while they are behind. */
const startProjections = async ({ closers, system, logger }: Bench, databaseUrl: string, secretKey: string) => {
  const operator = await openOperator(readConfig({ DATABASE_URL: databaseUrl, SECRET_KEY: secretKey }));
  closers.add('operator', operator.close);
  const pool = createPool({ url: databaseUrl, name: 'bench', logger, max: RUNNER_CONNECTIONS });
  closers.add('pool', () => pool.end());
  const ending = new AbortController();
  const running = createProjectionRunner({ pool, store: operator.store, system, logger }).run(ending.signal);
  closers.add('projections', async () => {
    ending.abort();
    await running;
  });
};

/** Cost of many open streams in one process: memory, queries, and the time until all have an event. */
export const eventStreams: Measure = {
  name: 'event-streams',
  run: async (bench) => {
    const { closers } = bench;
    const api = await openApi(bench);
    await startProjections(bench, api.databaseUrl, api.secretKey);
    const server = await api.start('durable');
    const url = new URL(server.baseUrl);
    const keys = [api.key, await makeKey(server.baseUrl, api.key)];
    const streams: Stream[] = [];
    closers.add('streams', async () => {
      for (const { socket } of streams) socket.destroy();
    });

    const openUpTo = (count: number) =>
      mapConcurrently(
        Array.from({ length: count - streams.length }, (_, index) => streams.length + index),
        { system: bench.system, concurrency: OPENING },
        async (number) => {
          streams.push(await openStream(url, keys[Math.floor(number / STREAMS_PER_KEY)] ?? api.key));
        },
      );
    const queriesIn = async (work: () => Promise<unknown>): Promise<number> => {
      const before = await server.queries();
      await work();
      return (await server.queries()) - before;
    };
    const rest = () => sleep(REST_MS);
    /** @returns milliseconds until the last stream received the message's event. */
    const sendOne = async (number: number): Promise<number> => {
      const shown = streams.map((stream) => stream.shown());
      const response = await fetch(`${server.baseUrl}/v1/messages/send`, {
        method: 'POST',
        headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
        body: SAMPLE_REQUESTS[number] ?? '',
      });
      if (response.status !== 202) throw new Error(`a send was answered ${response.status}`);
      await response.text();
      const beganMs = performance.now();
      await until('all streams', async () => streams.every((stream, index) => stream.shown() > (shown[index] ?? 0)));
      return performance.now() - beganMs;
    };
    const sendAll = async (): Promise<readonly number[]> => {
      const delays: number[] = [];
      for (let number = 0; number < MESSAGES; number += 1) delays.push(await sendOne(number));
      return delays;
    };

    await openUpTo(1);
    await sendAll(); // warms up what every process loads once
    const atRest = await queriesIn(rest);
    let queriesForOne = 0;
    queriesForOne = await queriesIn(sendAll);
    const before = await residentMb(server.pid);

    let delays: readonly number[] = [];
    let queriesForAll = 0;
    let atRestWithAll = 0;
    const { mostMb } = await watchMemory(
      server.pid,
      (async () => {
        await openUpTo(STREAMS);
        atRestWithAll = await queriesIn(rest);
        queriesForAll = await queriesIn(async () => {
          delays = await sendAll();
        });
      })(),
    );
    const many = `${STREAMS.toLocaleString('en')} event streams`;
    return [
      { measure: `${many}, most memory`, unit: 'MB', rounds: [mostMb - before], floor: MEMORY_FLOOR },
      {
        measure: `${many}, queries in ${REST_MS / 1000} s at rest`,
        unit: 'queries',
        rounds: [atRestWithAll],
        limit: { what: 'one stream', rounds: [atRest] },
      },
      {
        measure: `${many}, queries for a message`,
        unit: 'queries',
        rounds: [queriesForAll / MESSAGES],
        limit: { what: 'one stream', rounds: [queriesForOne / MESSAGES] },
        floor: QUERIES_FLOOR,
      },
      { measure: `${many}, until the last has a message`, unit: 'ms', rounds: delays },
    ];
  },
};
