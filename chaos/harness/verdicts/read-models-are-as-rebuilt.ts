import type { Evidence } from '../evidence.ts';
import type { Violation } from '../violation.ts';

const violation = (what: string): Violation => ({ promise: 'read models', what });

/** One of them says enough. */
const firstDifference = (table: string, live: readonly string[], rebuilt: readonly string[]): readonly Violation[] => {
  const extra = live.find((row) => !rebuilt.includes(row));
  const missing = rebuilt.find((row) => !live.includes(row));
  if (extra === undefined && missing === undefined && live.length === rebuilt.length) return [];
  return [
    violation(`table ${table}: live has ${extra ?? 'no row more'}; made anew it has ${missing ?? 'no row more'}`),
  ];
};

/** Every table is what the log makes of an empty one, and no event is parked. */
export const readModelsAreAsRebuilt = ({ readModels: { live, rebuilt, parked } }: Evidence): readonly Violation[] => [
  ...Object.keys(rebuilt).flatMap((table) => firstDifference(table, live[table] ?? [], rebuilt[table] ?? [])),
  ...(parked > 0 ? [violation(`${parked} events are parked`)] : []),
];
