/**
 * Preloaded into a program (`NODE_OPTIONS=--import`). It shifts the wall clock by the milliseconds in the file named by
 * `CHAOS_CLOCK`, read at start and on SIGUSR2. Monotonic clocks are unaffected.
 */
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const MachineDate = Date;
const readShift = (): number => Number(readFileSync(process.env.CHAOS_CLOCK ?? '', 'utf8'));

let shiftMs = readShift();
const now = (): number => MachineDate.now() + shiftMs;

globalThis.Date = new Proxy(MachineDate, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget) as object,
  apply: () => new MachineDate(now()).toString(),
  get: (target, property, receiver) => (property === 'now' ? now : Reflect.get(target, property, receiver)),
});

if (isMainThread) {
  process.on('SIGUSR2', () => {
    shiftMs = readShift();
  });
}
