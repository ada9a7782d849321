import { hash } from 'node:crypto';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into the service before its own code. Measures the longest pause of the event loop in processor time of its
 * thread, so that other load on the machine does not count. On every SIGUSR2 it prints the result and starts again.
 */
const INTERVAL_MS = 5;
/** Size of the calibration, which takes about 20 ms on the machines in use. */
const UNIT_BYTES = 30_000_000;
const ROUNDS = 5;
/** Rounds of a later calibration. A slow moment of the machine affects the pause and the calibration alike. */
const LATER_ROUNDS = 2;
/** Shorter pauses pass anyway. Calibrating for each of them would take minutes over thousands of requests. */
const DOUBTFUL_MS = 30;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** The fastest of several runs of work that is unrelated to the service. */
const unitMs = (rounds: number): number => {
  const bytes = Buffer.alloc(UNIT_BYTES, 'x');
  const took = Array.from({ length: rounds }, () => {
    const before = cpuMs();
    hash('sha256', bytes);
    return cpuMs() - before;
  });
  return Math.min(...took);
};

if (isMainThread) {
  const unitAtStart = unitMs(ROUNDS);
  let before = cpuMs();
  let longest = 0;
  setInterval(() => {
    const now = cpuMs();
    longest = Math.max(longest, now - before);
    before = now;
  }, INTERVAL_MS).unref();
  process.on('SIGUSR2', () => {
    const unit = longest < DOUBTFUL_MS ? unitAtStart : Math.max(unitAtStart, unitMs(LATER_ROUNDS));
    process.stdout.write(`\nloop-probe ${longest.toFixed(1)} ${unit.toFixed(1)}\n`);
    longest = 0;
    before = cpuMs();
  });
}
