import { expect, test, vi } from 'vitest';
import { MalformedEvent, UnknownEvent } from '../../src/domain/kernel/codec.ts';
import { StartRefused } from '../../src/lib/async/async.ts';
import { repeat, supervise } from '../../src/workers/supervise.ts';
import { createSteppableSystem } from '../support/system.ts';
import { createRecordingLogger } from './recording-logger.ts';

const notFatal = (error: unknown): never => {
  throw error;
};

test('failed work is restarted with back-off, with one log line for its failure and one for its recovery', async () => {
  const system = createSteppableSystem();
  const logger = createRecordingLogger();
  let faults = 5;
  let steps = 0;
  const loop = supervise(
    { system, logger, onFatal: notFatal },
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
  expect(logger.said('warn')).toEqual(['a background job failed: retrying']);
  expect(logger.said('info')).toEqual(['a background job recovered']);
  await loop.stop();
});

test('work is restarted within two seconds of the end of an outage, however long that was', async () => {
  const system = createSteppableSystem();
  let isAway = true;
  let steps = 0;
  const loop = supervise(
    { system, logger: createRecordingLogger(), onFatal: notFatal },
    'the test',
    repeat(system, async () => {
      if (isAway) throw new Error('away');
      steps += 1;
      return 1000;
    }),
  );
  await system.advance(3_600_000);
  isAway = false;
  await system.advance(2_000);
  expect(steps).toBeGreaterThan(0);
  await loop.stop();
});

test.each([
  ['an event that it does not know', new UnknownEvent('MessageTeleported', 1)],
  ['an event that does not fit its type', new MalformedEvent('MessageAccepted: no data')],
  ['another log than its own', new StartRefused('another log')],
])('work that encounters %s stays stopped, and ends the process', async (_, fault) => {
  const system = createSteppableSystem();
  const onFatal = vi.fn();
  const work = vi.fn(async () => {
    throw fault;
  });
  const loop = supervise({ system, logger: createRecordingLogger(), onFatal }, 'the test', work);
  await system.advance(60_000);
  expect(work).toHaveBeenCalledOnce();
  expect(onFatal.mock.calls).toEqual([[fault]]);
  await loop.stop();
});

test('work in progress is finished before a stop resolves', async () => {
  const system = createSteppableSystem();
  let finished = false;
  const loop = supervise({ system, logger: createRecordingLogger(), onFatal: notFatal }, 'the test', async () => {
    await system.sleep(500);
    finished = true;
  });
  const stopped = loop.stop();
  await system.advance(500);
  await stopped;
  expect(finished).toBe(true);
});
