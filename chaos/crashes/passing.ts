import type { FailPointName } from '../harness/fault-points.ts';
import { chosenFor } from '../harness/order.ts';
import { ALL } from './send-all.ts';

/** A point, with the pass number unless it is the first. */
export type Passing = FailPointName | `${FailPointName}#${number}`;

/** Minimum number of passes of each step during `sendAll`. Several messages may share a write. */
const TAKEN: Readonly<Record<string, number>> = {
  'append-accepted': ALL,
  'append-started': ALL - 1,
  'append-outcome': ALL - 1,
  'mail-send': ALL - 1,
  checkpoint: 14,
  'webhook-post': 30,
};

/** The pass at which a scenario's process dies, as a value for `OUTBOX_FAIL_POINT`. */
export const passingOf = (point: FailPointName, seed: number): string => {
  const step = point.replace(/^(?:before|after)-/, '');
  return `${point}#${chosenFor(seed, point, TAKEN[step] ?? 1)}`;
};
