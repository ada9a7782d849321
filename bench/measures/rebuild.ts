import { createPool } from '../../src/adapters/postgres/pool.ts';
import { LOG_START } from '../../src/domain/event-store.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { rebuild } from '../../src/projections/rebuild.ts';
import { RUNNER_CONNECTIONS } from '../../src/projections/runner.ts';
import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { openStore } from '../harness/open-store.ts';

const FLOOR = { of: 'figure', atLeast: 8_000 } as const;
/** Each takes long enough to be steady. */
const ROUNDS_MAX = 3;
const PAGE_EVENTS = 10_000;
const SECOND_MS = 1_000;

/** Making all read models anew from a log that tells of tens of thousands of messages, beside reading that log alone. */
export const rebuildAll: Measure = {
  name: 'rebuild',
  run: async (bench) => {
    const { closers, logger } = bench;
    const { url, events } = await bench.corpus();
    const store = await openStore(bench, closers, url);
    const pool = createPool({ url, name: 'bench', logger, max: RUNNER_CONNECTIONS, statementTimeoutMs: 0 });
    closers.add('rebuild pool', () => pool.end());

    const perSecond = (work: () => Promise<unknown>) => async (): Promise<number> => {
      const beganMs = performance.now();
      await work();
      return (events * SECOND_MS) / (performance.now() - beganMs);
    };
    const readAll = async (): Promise<void> => {
      let page = await store.readAll({ from: LOG_START, limit: PAGE_EVENTS });
      while (page.events.length === PAGE_EVENTS) {
        page = await store.readAll({ from: page.position, limit: PAGE_EVENTS });
      }
    };
    const rebuildOnce = async (): Promise<void> => {
      const rebuilt = await rebuild({ pool, store, logger }, PROJECTIONS);
      const parked = rebuilt.filter(({ parkedEvents }) => parkedEvents > 0);
      if (parked.length > 0) throw new Error(`events were parked by ${parked.map(({ name }) => name).join(', ')}`);
    };

    const figures = await interleave(
      { rounds: Math.min(bench.rounds, ROUNDS_MAX), warmUps: 0 },
      { limit: perSecond(readAll), ours: perSecond(rebuildOnce) },
    );
    const measure = `rebuilding ${PROJECTIONS.length} read models`;
    const limit = { what: 'reading the log', rounds: figures.limit };
    return [{ measure, unit: 'events/s', rounds: figures.ours, limit, floor: FLOOR }];
  },
};
