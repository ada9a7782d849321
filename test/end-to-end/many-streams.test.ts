import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { READERS_PER_KEY_MAX } from '../../src/http/resources/events/event-stream.ts';
import { type AnyBody, apiClient, eventually } from '../support/api-client.ts';
import { type OperatorOptions, operator } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { longestTurnMs, PROBED } from './fuzz/turn-probe.ts';

const TURN_MS_MAX = 50;
/** Number of tries. The shortest counts, because one of them collects the garbage of all streams. */
const TRIES = 5;
const SENDS = 90;
const OPENING = 50;
/**
 * Streams of further organizations. The share of each is at most the free capacity, so no single one could open the
 * rest.
 */
const STREAMS_OF_OTHERS = [950, 450, 200, 100, 50];
/** A clock tick of the kernel, the unit in which it counts processor time. */
const TICK_MS = 10;

interface Stream {
  readonly socket: Socket;
  /** Number of events so far. */
  events(): number;
  isClosed(): boolean;
}

const openStream = async (url: URL, key: string): Promise<Stream> => {
  const socket = connect({ host: url.hostname, port: Number(url.port) });
  const opened = Promise.withResolvers<void>();
  let [events, isClosed] = [0, false];
  socket
    .setEncoding('utf8')
    .on('data', (text: string) => {
      if (text.includes('retry: ')) opened.resolve();
      events += text.split('event: message.accepted').length - 1;
    })
    .on('error', opened.reject)
    .on('close', () => {
      isClosed = true;
      opened.reject(new Error('the stream was closed'));
    });
  await once(socket, 'connect');
  const headers = [
    `host: ${url.host}`,
    `authorization: Bearer ${key}`,
    'accept: text/event-stream',
    'connection: close',
  ];
  socket.write(`GET /v1/events HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  await opened.promise;
  return { socket, events: () => events, isClosed: () => isClosed };
};

/** Processor time of the event loop's thread so far. */
const loopMs = async ({ child }: Program): Promise<number> => {
  const stat = await readFile(`/proc/${child.pid}/task/${child.pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) * TICK_MS;
};

describe('with as many event streams as the shares allow,', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let options: OperatorOptions;
  const keys: AnyBody[] = [];
  const streams: Stream[] = [];

  const makeOrganization = async (name: string, keyCount: number): Promise<void> => {
    const { organization_id: organization } = await operator(options, 'organizations', 'create', '--name', name);
    const place = ['--organization', organization];
    const domain = await operator(options, 'domains', 'create', ...place, '--name', `${name}.test`);
    for (let count = 0; count < keyCount; count += 1) {
      const limits = ['--send', '1000000', '--read', '1000000', '--manage', '1000000'];
      const key = ['keys', 'create', ...place, '--domain', domain.domain_id, '--permissions', 'admin', ...limits];
      keys.push(await operator(options, ...key));
    }
  };

  beforeAll(async () => {
    data = await newDataDir();
    options = { dataDir: data.path };
    program = await startProgram({ dataDir: data.path, env: PROBED });
    await makeOrganization('acme', 2);
    for (const [index] of STREAMS_OF_OTHERS.entries()) await makeOrganization(`other${index}`, 1);
    const url = new URL(program.baseUrl);
    const counts = [READERS_PER_KEY_MAX, READERS_PER_KEY_MAX, ...STREAMS_OF_OTHERS];
    for (const [index, { key }] of keys.entries()) {
      for (let open = 0; open < (counts[index] ?? 0); open += OPENING) {
        streams.push(...(await Promise.all(Array.from({ length: OPENING }, () => openStream(url, key)))));
      }
    }
  }, 300_000);
  afterAll(async () => {
    for (const { socket } of streams) socket.destroy();
    await program.end('SIGTERM');
    await data.remove();
  });

  const ofAcme = (): readonly Stream[] => streams.slice(0, 2 * READERS_PER_KEY_MAX);

  /** Sends a batch and waits until all streams of its organization have received it. */
  const sendBatch = async (): Promise<void> => {
    const before = ofAcme().map(({ events }) => events());
    const api = apiClient(program.baseUrl, keys[0].key);
    const message = { from: 'a@acme.test', to: 'b@example.org', subject: 'x', text: 'x' };
    const { status } = await api.post('/v1/messages/batch', { messages: new Array(SENDS).fill(message) });
    expect(status).toBe(202);
    expect((await fetch(`${program.baseUrl}/livez`)).status).toBe(200);
    const hasAll = (): boolean => ofAcme().every(({ events }, index) => events() >= (before[index] ?? 0) + SENDS);
    await eventually(async () => hasAll(), Boolean, 120_000);
  };

  test('a batch blocks the event loop for at most 50 ms at a time', async () => {
    let ms = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < TRIES && ms > TURN_MS_MAX; attempt += 1) {
      await longestTurnMs(program);
      await sendBatch();
      ms = Math.min(ms, await longestTurnMs(program));
    }
    process.stdout.write(`longest turn: ${ms.toFixed(0)} ms, a batch with ${streams.length} event streams\n`);
    expect(streams.filter(({ isClosed }) => isClosed())).toEqual([]);
    expect(ms).toBeLessThanOrEqual(TURN_MS_MAX);
  }, 600_000);

  test('the streams of a revoked key are closed with less than a second of work, and no others', async () => {
    const [, revoked] = keys;
    const api = apiClient(program.baseUrl, keys[0].key);
    const before = await loopMs(program);
    expect((await api.post(`/v1/api-keys/${revoked.key_id}/revoke`)).status).toBeLessThan(300);
    const ofRevoked = streams.slice(READERS_PER_KEY_MAX, 2 * READERS_PER_KEY_MAX);
    await eventually(async () => ofRevoked.every(({ isClosed }) => isClosed()), Boolean, 60_000);
    expect((await loopMs(program)) - before).toBeLessThan(1_000);
    expect(streams.filter(({ isClosed }) => isClosed())).toHaveLength(READERS_PER_KEY_MAX);
  });
});
