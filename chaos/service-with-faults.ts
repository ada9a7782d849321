/**
 * Starts the service like `src/main.ts`, but with faults: `OUTBOX_FAIL_POINT` kills it before or after a step, and
 * `OUTBOX_TRIAL=quick` shortens leases to seconds and allows webhooks to this machine.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { ServiceOverrides } from '../src/composition/open-engines.ts';
import { runService } from '../src/composition/run-service.ts';
import { readFailPoint } from './harness/fault-points.ts';
import { faultyPorts } from './harness/faulty-ports.ts';

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));

/**
 * Interrupted work continues within seconds after a crash. Shorter: a loaded machine misses its deadlines. Longer:
 * every crash of a scenario takes that much more time.
 */
const FAST_TIMINGS: ServiceOverrides = {
  times: { attemptMs: 4_000, leaseMs: 6_000 },
  webhookTimes: { postMs: 3_000, recordMs: 2_000, leaseMs: 8_000 },
  erasureRoundMs: 500,
  allowLoopbackWebhooks: true,
};

const overrides = (): ServiceOverrides => {
  const point = readFailPoint(process.env.OUTBOX_FAIL_POINT);
  return {
    ...(process.env.OUTBOX_TRIAL === 'quick' ? FAST_TIMINGS : {}),
    ...(point === null ? {} : { ports: faultyPorts(point) }),
  };
};

try {
  await runService(overrides());
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
