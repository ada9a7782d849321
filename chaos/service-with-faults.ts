/**
 * The service as `src/main.ts` starts it, but with faults: `OUTBOX_FAIL_POINT` kills it before or after a step, and
 * `OUTBOX_TRIAL=quick` gives it leases of seconds and lets webhooks post to this machine.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { ServiceOverrides } from '../src/composition/open-engines.ts';
import { runService } from '../src/composition/run-service.ts';
import { readFailPoint } from './harness/fault-points.ts';
import { faultyPorts } from './harness/faulty-ports.ts';

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));

/**
 * After a crash the interrupted work continues within seconds. A loaded machine needs most of the time given here; longer
 * times would be waited out after every crash of a scenario.
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
