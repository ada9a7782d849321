import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before the program (`NODE_OPTIONS=--import=…`): its clock starts at `CLOCK_AT`, if that is set, and each SIGUSR2
 * sets it ahead by a quarter of an hour, so that no test waits for minutes.
 */

const AHEAD_MS = 15 * 60_000;

const RealDate = Date;

const { CLOCK_AT } = process.env;
let shiftMs = CLOCK_AT === undefined ? 0 : RealDate.parse(CLOCK_AT) - RealDate.now();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, made) =>
    Reflect.construct(target, given.length === 0 ? [RealDate.now() + shiftMs] : given, made),
  get: (target, name) => (name === 'now' ? () => RealDate.now() + shiftMs : (Reflect.get(target, name) as unknown)),
});

// Worker threads receive no signals: their clock is not set ahead.
if (isMainThread)
  process.on('SIGUSR2', () => {
    shiftMs += AHEAD_MS;
  });
