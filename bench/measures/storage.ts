import type { Measure } from '../harness/bench.ts';
import type { Line } from '../harness/line.ts';
import type { TableBytes } from '../harness/open-service.ts';
import { openWay } from '../harness/send-through.ts';

/** Smaller tables are left out, because they do not grow with messages. */
const BYTES_MIN = 2;

type Sizes = ReadonlyMap<string, TableBytes>;

/** Bytes that a delivered message leaves in each table, with 1.3 kB of HTML, one recipient and one tag. */
export const storage: Measure = {
  name: 'storage',
  run: async (bench) => {
    const way = await openWay(bench);
    const before: Sizes = await way.service.tableBytes();
    const walBefore = await way.service.walBytes();
    const { messages } = await way.pass();
    const wal = ((await way.service.walBytes()) - walBefore) / messages;
    const after: Sizes = await way.service.tableBytes();
    const grown = [...after].map(([table, { rows, indexes }]) => ({
      table,
      rows: (rows - (before.get(table)?.rows ?? 0)) / messages,
      indexes: (indexes - (before.get(table)?.indexes ?? 0)) / messages,
    }));
    const line = (measure: string, bytes: number): Line => ({ measure, unit: 'B/message', rounds: [bytes] });
    const lines = grown.flatMap(({ table, rows, indexes }) => [line(table, rows), line(`${table}, indexes`, indexes)]);
    const total = grown.reduce((sum, { rows, indexes }) => sum + rows + indexes, 0);
    return [
      ...lines.filter(({ rounds: [bytes = 0] }) => bytes >= BYTES_MIN),
      line('all of the database', total),
      line('write-ahead log', wal),
    ];
  },
};
