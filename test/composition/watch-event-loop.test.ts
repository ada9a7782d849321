import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { type EventLoopWatch, watchEventLoop } from '../../src/composition/watch-event-loop.ts';
import type { Logger } from '../../src/lib/async/async.ts';
import { type Service, startService } from '../http/support/service.ts';
import { silentLogger } from '../support/logger.ts';

const HOLD_MS = 400;
const MICROSECONDS_PER_MS = 1000;

let watch: EventLoopWatch;
let service: Service | undefined;
const lines: (readonly [fields: object, text: string])[] = [];
const logger: Logger = { ...silentLogger, warn: (fields: object, text: string) => void lines.push([fields, text]) };

afterEach(async () => {
  watch.stop();
  lines.length = 0;
  await service?.close();
  service = undefined;
});

/** Blocks the event loop for an amount of processor time, which excludes other load on the machine. */
const hold = (): void => {
  const begun = process.threadCpuUsage();
  for (let ran = 0; ran < HOLD_MS * MICROSECONDS_PER_MS; ) {
    const { user, system } = process.threadCpuUsage(begun);
    ran = user + system;
  }
};

const open = (registry?: Registry): void => {
  watch = watchEventLoop({ system: createSystem(), logger, registry });
};

/** Waits for the next check of the event loop. */
const looked = (): Promise<void> => sleep(100);

describe('a request that blocks the event loop', () => {
  const send = async (html: string): Promise<void> => {
    open();
    const htmlChecker = {
      check: async (text: string) => {
        if (text.includes('slow')) hold();
        return [];
      },
      close: async () => undefined,
    };
    service = await startService({ htmlChecker, eventLoop: watch });
    const organizationId = await service.makeOrganization();
    const key = await service.makeKey(organizationId, await service.makeDomain(organizationId, 'a.test'));
    await looked();
    lines.length = 0;
    const payload = { from: 'x@a.test', to: 'b@example.org', subject: 'x', html };
    const answers = ['/livez', '/docs'].map((url) => service?.request({ url }));
    const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key: key.value, payload });
    await Promise.all(answers);
    expect(answer.statusCode).toBe(202);
    await looked();
  };

  test('is named by its route, even among others', async () => {
    await send('<p>slow</p>');
    expect(lines).toContainEqual([
      {
        route: 'POST /v1/messages/send',
        requestId: expect.stringMatching(/^req_/),
        delayMs: expect.any(Number),
        cpuMs: expect.any(Number),
      },
      'a request blocked the event loop',
    ]);
  });

  test('is not named if it blocks nothing', async () => {
    await send('<p>quick</p>');
    hold();
    await expect
      .poll(() => lines.map(([, text]) => text))
      .toContain('the event loop was blocked, but not by a request');
    expect(lines.filter(([fields]) => JSON.stringify(fields).includes('messages/send'))).toEqual([]);
  });
});

test('a pause without a request is reported as such', async () => {
  open();
  await looked();
  hold();
  await looked();
  expect(lines).toContainEqual([expect.not.objectContaining({ route: expect.anything() }), expect.any(String)]);
  expect(lines.map(([, text]) => text)).toContain('the event loop was blocked, but not by a request');
});

test('delays are exposed as metrics, with long ones counted separately', async () => {
  const registry = new Registry();
  open(registry);
  await sleep(100);
  hold();
  await looked();
  const text = await registry.metrics();
  const count = (label: string): number =>
    Number(text.split(`outbox_event_loop_delay_seconds_bucket{le="${label}"} `)[1]?.split('\n')[0]);
  expect(count('+Inf')).toBeGreaterThan(1);
  expect(count('+Inf')).toBeGreaterThan(count('0.25'));
});
