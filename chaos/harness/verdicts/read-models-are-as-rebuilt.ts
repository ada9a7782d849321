import type { Evidence } from '../evidence.ts';
import type { Violation } from '../violation.ts';

const violation = (what: string): Violation => ({ promise: 'read models', what });

/** Reports one difference per table, which is enough to investigate. */
const firstDifference = (table: string, live: readonly string[], rebuilt: readonly string[]): readonly Violation[] => {
  const extra = live.find((row) => !rebuilt.includes(row));
  const missing = rebuilt.find((row) => !live.includes(row));
  if (extra === undefined && missing === undefined && live.length === rebuilt.length) return [];
  return [
    violation(`table ${table}: live has ${extra ?? 'no row more'}; made anew it has ${missing ?? 'no row more'}`),
  ];
};

/** Every table must equal a rebuild from the log, and no event may be parked. */
export const readModelsAreAsRebuilt = ({ readModels: { live, rebuilt, parked } }: Evidence): readonly Violation[] => [
  ...Object.keys(rebuilt).flatMap((table) => firstDifference(table, live[table] ?? [], rebuilt[table] ?? [])),
  ...(parked > 0 ? [violation(`${parked} events are parked`)] : []),
];
