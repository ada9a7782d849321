import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../http/support/service.ts';
import { ADVERSARIAL_HTML } from '../support/adversarial-html.ts';

/** The documented limit for other requests during an analysis. */
const DELAY_MS_MAX = 50;
const MICROSECONDS = 1000;
/** Long enough between requests to leave the analysis thread its processor. */
const PING_EVERY_MS = 5;
/** The first run compiles the code, the second is measured. */
const TRIES = 2;

/** The inputs that cost most on the event loop, and those that cost most on the analysis thread. */
const WORST = [
  ...['elements nested as deep as they go', 'tables left open', 'one tag with 300,000 attributes', '100,000 links'],
  ...['images without anything', 'damaged text', 'characters of two units', 'lines without text'],
];

let service: Service;
let url: string;
let key: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  url = await service.server.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => service.close());

const bodyOf = (html: string): Buffer =>
  Buffer.from(JSON.stringify({ from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html, text: html }));

const analyze = async (body: Buffer): Promise<number> => {
  const answer = await fetch(`${url}/v1/messages/analyze`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: new Uint8Array(body),
  });
  await answer.arrayBuffer();
  return answer.status;
};

/** Measures the longest turn of the event loop, in processor time, until the returned function is called. */
const watchTurns = (): (() => number) => {
  let longestMs = 0;
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / MICROSECONDS);
    before = process.threadCpuUsage();
  }, 1);
  return () => {
    clearInterval(timer);
    return longestMs;
  };
};

/**
 * The longest delay of a cheap request during an analysis. It is the slowest response or the longest turn of the event
 * loop, whichever is shorter: a response that took longer than any turn was delayed by other load on the machine.
 */
const delayMs = async (work: Promise<number>): Promise<number> => {
  const longestTurn = watchTurns();
  let slowest = 0;
  let working = true;
  const ended = work.finally(() => {
    working = false;
  });
  while (working) {
    const begun = performance.now();
    await (await fetch(`${url}/livez`)).arrayBuffer();
    slowest = Math.max(slowest, performance.now() - begun);
    await setTimeout(PING_EVERY_MS);
  }
  expect([200, 503]).toContain(await ended);
  return Math.min(slowest, longestTurn());
};

describe('requests do not wait while a megabyte is analysed', () => {
  test.each(WORST)('%s', async (what) => {
    const body = bodyOf(ADVERSARIAL_HTML[what] ?? '');
    expect(body.length).toBeGreaterThan(1_000_000);
    const delays: number[] = [];
    for (let tried = 0; tried < TRIES; tried += 1) delays.push(await delayMs(analyze(body)));
    expect(Math.min(...delays)).toBeLessThan(DELAY_MS_MAX);
  });
});
