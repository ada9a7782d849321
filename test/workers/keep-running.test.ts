import { expect, test, vi } from 'vitest';
import { UnknownEvent } from '../../src/domain/codec.ts';
import { keepRunning, repeat } from '../../src/workers/keep-running.ts';
import { createSteppableSystem } from '../support/system.ts';
import { createRecordingLogger } from './recording-logger.ts';

test('work that falls over is begun again, later each time, and says so once each way', async () => {
  const system = createSteppableSystem();
  const logger = createRecordingLogger();
  let faults = 5;
  let steps = 0;
  const loop = keepRunning(
    { system, logger },
    'the test',
    repeat(system, async () => {
      steps += 1;
      if (faults-- > 0) throw new Error('away');
      return 1000;
    }),
  );
  await system.advance(20);
  expect(steps).toBe(1);
  await system.advance(30_000);
  expect(steps).toBeGreaterThan(6);
  expect(logger.said('warn')).toEqual(['the test cannot go on just now and tries again']);
  expect(logger.said('info')).toEqual(['the test works again']);
  await loop.stop();
});

test('work that meets an event it does not know stays stopped, and says why', async () => {
  const system = createSteppableSystem();
  const logger = createRecordingLogger();
  const work = vi.fn(async () => {
    throw new UnknownEvent('MessageTeleported', 1);
  });
  const loop = keepRunning({ system, logger }, 'the test', work);
  await system.advance(60_000);
  expect(work).toHaveBeenCalledOnce();
  expect(logger.said('error').join()).toContain('this process is older than the log');
  await loop.stop();
});

test('work in hand is finished before a stop resolves', async () => {
  const system = createSteppableSystem();
  let finished = false;
  const loop = keepRunning({ system, logger: createRecordingLogger() }, 'the test', async () => {
    await system.sleep(500);
    finished = true;
  });
  const stopped = loop.stop();
  await system.advance(500);
  await stopped;
  expect(finished).toBe(true);
});
