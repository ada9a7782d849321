import { FAIL_POINTS, type FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import { inWorld } from './in-world.ts';
import { passingOf } from './passing.ts';
import { sendAll } from './send-all.ts';

/** Points that plain sending on PostgreSQL does not pass. Other scenarios cover them. */
const ELSEWHERE = [
  ...['append-held', 'append-lost', 'append-unsent', 'append-report', 'append-unsubscription', 'append-suppression'],
  ...['append-engagement', 'append-suspension', 'append-places', 'append-reputation', 'append-release'],
  ...['append-keys', 'append-check', 'append-destroyed', 'append-erased', 'append-invoice', 'append-checkpoint'],
  ...['append-cosignature', 'append-inbound'],
  ...['append-other'],
  ...['contents-put', 'secret-put', 'secret-destroy', 'note-put', 'content-expire', 'webhook-replay'],
  ...['content-erase', 'erasure-note'],
];

const isPassedBySending = (point: FailPointName): boolean => !ELSEWHERE.some((step) => point.endsWith(step));

const diesAt = (point: FailPointName): Scenario => ({
  name: `one process killed ${point}`,
  run: (seed) =>
    inWorld({}, async ({ programs, load }) => {
      await programs.startToDie({ OUTBOX_FAIL_POINT: passingOf(point, seed) });
      await sendAll(load);
      await programs.died();
      await programs.start();
    }),
});

/** Kills a process with all roles at each point that sending passes. */
export const FAIL_POINT_CRASHES: readonly Scenario[] = FAIL_POINTS.filter(isPassedBySending).map(diesAt);
