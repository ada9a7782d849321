import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Attachment, ConnectionError, createOutbox, type Outbox, OutboxError } from '../../sdk/src/index.ts';
import { failureOf, json, type ScriptedRequest, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

const MAIL = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x' };
const ok = json(202, { id: 'msg_1' });
// Not a multiple of 3, and larger than a chunk.
const BYTES = Uint8Array.from({ length: 200_001 }, (_, index) => (index * 7) % 256);
const base64 = Buffer.from(BYTES).toString('base64');

let folder: string;
let path: string;
let server: ScriptedServer;
let outbox: Outbox;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbox-sdk-'));
  path = join(folder, 'report.bin');
  await writeFile(path, BYTES);
  server = await startScriptedServer();
  outbox = createOutbox({ baseUrl: server.url, apiKey: 'ob_test_x' });
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await server.close();
});

const attached = (content: unknown): readonly Attachment[] => [{ filename: 'a.bin', content: content as Blob }];

describe('attachments', () => {
  test('from a file are streamed, and again for each attempt', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const file = await openAsBlob(path);
    server.script((response) => void response.destroy(), ok);
    await outbox.messages.sendBatch({
      messages: [1, 2].map((name) => ({ ...MAIL, attachments: [{ filename: `${name}`, content: file }] })),
    });
    expect(server.asked).toHaveLength(2);
    const [first, second] = server.asked as [ScriptedRequest, ScriptedRequest];
    expect(first.headers['transfer-encoding']).toBe('chunked');
    expect(second.headers['idempotency-key']).toBe(first.headers['idempotency-key']);
    expect(second.body).toBe(first.body);
    const { messages } = JSON.parse(second.body);
    expect(messages.map((one: { attachments: [{ content: string }] }) => one.attachments[0].content)).toEqual([
      base64,
      base64,
    ]);
  });

  test('in memory are sent whole', async () => {
    const few = BYTES.subarray(0, 4);
    for (const content of [BYTES, Buffer.from(BYTES), BYTES.buffer, base64, few]) {
      server.script(ok);
      await outbox.messages.send({ ...MAIL, attachments: attached(content) });
      const [sent] = JSON.parse(server.asked[0]?.body ?? '').attachments;
      expect(sent.content).toBe(content === few ? 'AAcOFQ==' : base64);
      expect(server.asked[0]?.headers['content-length']).toBeDefined();
    }
  });

  test.each([7, {}, [1, 2], undefined, null, new ReadableStream()])('that are %s are refused', async (content) => {
    server.script(ok);
    const error = await failureOf(outbox.messages.send({ ...MAIL, attachments: attached(content) }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe('attachments[0].content must be Base64, bytes or a Blob');
    const batch = { messages: [MAIL, { ...MAIL, attachments: attached(content) }] };
    expect((await failureOf(outbox.messages.sendBatch(batch))).message).toMatch(/^messages\[1\]\.attachments\[0\]/);
    expect(server.asked).toHaveLength(0);
  });

  test('from a file that changes or ends early fail without a retry', async () => {
    for (const change of [(): Promise<void> => truncate(path, 5), (): Promise<void> => rm(path)]) {
      await writeFile(path, BYTES);
      const file = await openAsBlob(path);
      await change();
      server.script(ok);
      let tries = 0;
      const client = createOutbox({ baseUrl: server.url, apiKey: 'ob_test_x', onAttempt: () => ++tries });
      const error = await failureOf(client.messages.send({ ...MAIL, attachments: attached(file) }));
      expect(error).toBeInstanceOf(OutboxError);
      expect(error).not.toBeInstanceOf(ConnectionError);
      expect(error.message).toBe('cannot read an attachment');
      expect(error.cause).toBeDefined();
      expect([tries, server.asked.length]).toEqual([1, 0]);
    }
  });

  test('from a file follow no redirect, and are not sent again for one', async () => {
    await writeFile(path, BYTES);
    server.script(json(307, {}, { location: `${server.url}/elsewhere` }));
    const error = await failureOf(outbox.messages.send({ ...MAIL, attachments: attached(await openAsBlob(path)) }));
    expect(error.message).toBe('the response is a redirect, which is not followed: check baseUrl');
    expect(error).not.toBeInstanceOf(ConnectionError);
    expect(server.asked).toHaveLength(1);
  });

  test('with an invalid value are left to the service to reject', async () => {
    server.script(ok);
    await outbox.messages.send({ ...MAIL, attachments: 'none' as never });
    expect(JSON.parse(server.asked[0]?.body ?? '')).toEqual({ ...MAIL, attachments: 'none' });
  });
});

describe('a React element', () => {
  test('is rendered with the given renderer, once for all attempts', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const rendered: unknown[] = [];
    const renderReact = async (element: unknown): Promise<string> => `<p>${rendered.push(element)}</p>`;
    const client = createOutbox({ baseUrl: server.url, apiKey: 'ob_test_x', renderReact });
    server.script((response) => void response.destroy(), ok);
    const { text: _, ...mail } = MAIL;
    await client.messages.send({ ...mail, react: 'an element' });
    expect(server.asked.map(({ body }) => JSON.parse(body))).toEqual([
      { ...mail, html: '<p>1</p>' },
      { ...mail, html: '<p>1</p>' },
    ]);
  });

  test('together with html, or failing to render, is reported before anything is sent', async () => {
    server.script(ok);
    const both = await failureOf(outbox.messages.send({ ...MAIL, react: 'x', html: '<p>' }));
    expect([both instanceof TypeError, both.message]).toEqual([
      true,
      'react and html exclude each other: send only one',
    ]);
    const renderReact = (): never => {
      throw new RangeError('no such component');
    };
    const client = createOutbox({ baseUrl: server.url, apiKey: 'ob_test_x', renderReact });
    expect(await failureOf(client.messages.send({ ...MAIL, react: 'x' }))).toBeInstanceOf(RangeError);
    expect(server.asked).toHaveLength(0);
  });
});
