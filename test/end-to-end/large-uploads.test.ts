import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { operator, unlimitedKey } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x' };
/** Delay given by `Retry-After`. */
const RETRY_MS = 5_000;
const CONTENT_CHARACTERS = 24_000_000;
const BODY = Buffer.from(
  JSON.stringify({ ...MESSAGE, attachments: [{ filename: 'a', content: 'QUJD'.repeat(CONTENT_CHARACTERS / 4) }] }),
);

describe('large uploads', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let key: string;
  let port: number;

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path });
    port = Number(new URL(program.baseUrl).port);
    key = await unlimitedKey({ dataDir: data.path });
    await eventually(
      () => apiClient(program.baseUrl, key).get('/v1/api-keys'),
      ({ status }) => status === 200,
    );
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  const ask = async (by: string): Promise<{ readonly status: number; readonly text: string }> => {
    const answer = await fetch(`${program.baseUrl}/v1/messages/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
      body: new Uint8Array(BODY),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const send = async (by = key): Promise<number> => (await ask(by)).status;

  const residentMb = async (): Promise<number> => {
    const status = await readFile(`/proc/${program.child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_000;
  };

  const head = (more: string, by = key): string =>
    `POST /v1/messages/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${by}\r\nContent-Type: application/json\r\n${more}\r\n\r\n`;

  /** The response up to the end of its first line of JSON. */
  const answerOf = (write: (socket: ReturnType<typeof connect>) => unknown): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => void write(socket));
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk.toString();
        if (answer.includes('}')) socket.destroy();
      });
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
    });

  test('of 24 MB, eight at once, are accepted, or asked to retry before they are read', async () => {
    const refusals: string[] = [];
    const accepted = async (): Promise<number> => {
      for (;;) {
        const { status, text } = await ask(key);
        if (status !== 503) return status;
        refusals.push(JSON.parse(text).error.message);
        await sleep(RETRY_MS);
      }
    };
    expect(await Promise.all(Array.from({ length: 8 }, accepted))).toEqual(Array(8).fill(202));
    expect(refusals.filter((message) => !message.startsWith('too many large requests are in progress'))).toEqual([]);
    // An idle machine rejects none. A busy one may reject each body once.
    expect(refusals.length).toBeLessThanOrEqual(8);
  });

  test('of another organization find room despite sixteen slow ones', async () => {
    const options = { dataDir: data.path };
    const { organization_id: organization } = await operator(options, 'organizations', 'create', '--name', 'Other');
    const place = ['--organization', organization, '--name', 'other.test'];
    const { domain_id: domain } = await operator(options, 'domains', 'create', ...place);
    const bound = ['--organization', organization, '--domain', domain, '--permissions', 'admin'];
    const { key: other } = await operator(options, 'keys', 'create', ...bound);
    const dawdling = Array.from({ length: 16 }, () => {
      const socket = connect(port, '127.0.0.1', () => socket.write(head(`Content-Length: ${BODY.length}`)));
      socket.on('error', () => undefined);
      return socket;
    });
    await sleep(500);
    // The large body is read completely and rejected only for its sender's domain. A small request of the slow
    // clients' organization is accepted.
    const began = performance.now();
    expect(await send(other)).toBe(403);
    expect((await apiClient(program.baseUrl, key).post('/v1/messages/send', MESSAGE)).status).toBe(202);
    expect(performance.now() - began).toBeLessThan(9_000);
    for (const socket of dawdling) socket.destroy();
  });

  test('that find no room are refused before they are read, and slow ones lose theirs', async () => {
    const announced = `Content-Length: ${BODY.length}`;
    const holders = Array.from({ length: 3 }, () =>
      answerOf((socket) => void socket.write(head(announced) + BODY.toString('latin1', 0, 1_000))),
    );
    await sleep(500);
    // The response arrives before any of the body has been sent.
    const refused = await answerOf((socket) => void socket.write(head(announced)));
    expect(refused).toMatch(/^HTTP\/1\.1 503 /);
    expect(refused).toMatch(/\r\nretry-after: 5\r\n/i);
    for (const answer of await Promise.all(holders)) {
      expect(answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*the body did not arrive within \d+ seconds/);
    }
    expect(await send()).toBe(202);
  }, 180_000);

  test('in chunks of one byte use only as much memory as their content', async () => {
    const before = await residentMb();
    let most = before;
    const watch = setInterval(() => void residentMb().then((mb) => (most = Math.max(most, mb))), 100);
    const bytes = 3_000_000;
    const text = `{"from":"a@example.test","attachments":[{"content":"${'A'.repeat(bytes)}`;
    const piece = Buffer.from([...text.slice(0, 100_000)].map((letter) => `1\r\n${letter}\r\n`).join(''));
    const rest = Buffer.from('1\r\nA\r\n'.repeat(100_000));
    const answer = answerOf(async (socket) => {
      socket.write(head('Transfer-Encoding: chunked'));
      socket.write(piece);
      for (let sent = 100_000; sent < bytes; sent += 100_000) {
        if (!socket.write(rest)) await new Promise((resolve) => socket.once('drain', resolve));
      }
      socket.end('3\r\n"}]\r\n1\r\n}\r\n0\r\n\r\n');
    });
    expect(await answer).toMatch(/^HTTP\/1\.1 400 /);
    clearInterval(watch);
    expect(most - before).toBeLessThan(300);
  }, 180_000);
});
