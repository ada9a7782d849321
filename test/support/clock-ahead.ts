import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before the program (`NODE_OPTIONS=--import=…`): each SIGUSR2 sets its clock ahead by a quarter of an hour, so
 * that no test waits for minutes.
 */

const AHEAD_MS = 15 * 60_000;

let shiftMs = 0;

const RealDate = Date;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, made) =>
    Reflect.construct(target, given.length === 0 ? [RealDate.now() + shiftMs] : given, made),
  get: (target, name) => (name === 'now' ? () => RealDate.now() + shiftMs : (Reflect.get(target, name) as unknown)),
});

// Worker threads receive no signals: their clock does not change.
if (isMainThread)
  process.on('SIGUSR2', () => {
    shiftMs += AHEAD_MS;
  });
