import { Pool } from 'pg';
import { LOG_START } from '../../src/domain/kernel/event-store.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import type { Line } from '../harness/line.ts';
import { openStore } from '../harness/open-store.ts';

const FLOOR = { of: 'ratio', atLeast: 0.6 } as const;
/** Page size of subscriptions. Larger pages live longer and cost more garbage collection. */
const PAGE_EVENTS = 1_000;
const SECOND_MS = 1_000;

/**
 * Selects the same rows by the same index. They are parsed but not inspected: no schema, upcast, positions or metadata.
 */
const PAGE = {
  name: 'page',
  rowMode: 'array',
  text: `select position, stream, revision, id, type, data, metadata
    from event_log.events where position > $1 order by position limit $2`,
} as const;

const openRawReading = (bench: Bench, url: string): (() => Promise<number>) => {
  const pool = new Pool({ connectionString: url, max: 1, application_name: 'raw reading' });
  bench.closers.add('raw reading', () => pool.end());
  const readPage = async (after: string): Promise<readonly string[][]> => {
    const { rows } = await pool.query<string[]>({ ...PAGE, values: [after, PAGE_EVENTS] });
    for (const [, , , , , data = '', metadata = ''] of rows) {
      JSON.parse(data);
      JSON.parse(metadata);
    }
    return rows;
  };
  return async () => {
    let rows = await readPage('0');
    let events = rows.length;
    while (rows.length === PAGE_EVENTS) {
      rows = await readPage(rows.at(-1)?.[0] ?? '');
      events += rows.length;
    }
    return events;
  };
};

/** Reading and decoding a whole log, by pages and by subscription, compared with the same rows through `pg`. */
export const readLog: Measure = {
  name: 'read-log',
  run: async (bench): Promise<readonly Line[]> => {
    const { url, events } = await bench.corpus();
    const store = await openStore(bench, bench.closers, url);
    const raw = openRawReading(bench, url);

    const byPages = async (): Promise<number> => {
      let read = 0;
      let from = LOG_START;
      for (let more = true; more; ) {
        const page = await store.readAll({ from, limit: PAGE_EVENTS });
        read += page.events.length;
        from = page.position;
        more = page.events.length === PAGE_EVENTS;
      }
      return read;
    };
    const bySubscription = async (): Promise<number> => {
      const end = new AbortController();
      let read = 0;
      for await (const page of store.subscribe(LOG_START, {}, end.signal)) {
        read += page.events.length;
        if (read >= events) break;
      }
      end.abort();
      return read;
    };
    const perSecond = (read: () => Promise<number>) => async (): Promise<number> => {
      const beganMs = performance.now();
      const found = await read();
      if (found !== events) throw new Error(`${found} of ${events} events were read`);
      return (found * SECOND_MS) / (performance.now() - beganMs);
    };

    const figures = await interleave(
      { rounds: bench.rounds, warmUps: 1 },
      { pages: perSecond(byPages), limit: perSecond(raw), subscription: perSecond(bySubscription) },
    );
    const limit = { what: 'pg and JSON.parse', rounds: figures.limit };
    return [
      { measure: 'reading the log, by pages', unit: 'events/s', rounds: figures.pages, limit, floor: FLOOR },
      { measure: 'reading the log, subscribed', unit: 'events/s', rounds: figures.subscription, limit, floor: FLOOR },
    ];
  },
};
