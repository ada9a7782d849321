import type { FailPointName } from '../harness/fault-points.ts';
import { chosenFor } from '../harness/order.ts';
import { ALL } from './send-all.ts';

/** A point, and which of its passings where it is not the first. */
export type Passing = FailPointName | `${FailPointName}#${number}`;

/** How often a step is taken at least while `sendAll` is worked off: requests, groups that share a write, and so on. */
const TAKEN: Readonly<Record<string, number>> = {
  'append-accepted': ALL,
  'append-started': ALL - 1,
  'append-outcome': ALL - 1,
  'mail-send': ALL - 1,
  checkpoint: 14,
  'webhook-post': 30,
};

/** Which of a point's passings a scenario's process dies at: the value of `OUTBOX_FAIL_POINT`. */
export const passingOf = (point: FailPointName, seed: number): string => {
  const step = point.replace(/^(?:before|after)-/, '');
  return `${point}#${chosenFor(seed, point, TAKEN[step] ?? 1)}`;
};
