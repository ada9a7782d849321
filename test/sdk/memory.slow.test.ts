import { openAsBlob } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOutbox } from '../../sdk/src/index.ts';

const FILE_BYTES = 400_000_000;
/** Allowance for buffers that have not been collected yet. The file has 400 MB, or 533 MB encoded. */
const GROWTH_BYTES_MAX = 200_000_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbox-sdk-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('an attachment of 400 MB is sent from its file, and never held in memory', async () => {
  const path = join(folder, 'large.bin');
  const file = await open(path, 'w');
  await file.truncate(FILE_BYTES);
  await file.close();
  let received = 0;
  let peak = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      peak = Math.max(peak, process.memoryUsage.rss());
    });
    request.on('end', () => response.writeHead(202).end('{"id":"msg_1"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { messages } = createOutbox({ apiKey: 'ob_test_x', baseUrl, timeoutMs: 120_000 });
  const before = process.memoryUsage.rss();
  const attachments = [{ filename: 'large.bin', content: await openAsBlob(path) }];
  await messages.send({ from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x', attachments });
  server.close();
  expect(received).toBeGreaterThan((FILE_BYTES * 4) / 3);
  expect(peak - before).toBeLessThan(GROWTH_BYTES_MAX);
});
