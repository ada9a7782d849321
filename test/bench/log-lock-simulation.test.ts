import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/**
 * The messages a second that the lock of the log lets through, if there are enough processors: the table in
 * `docs/operations.md`. Each process commits what waits in one append. Appends to one log take turns.
 *
 * A commit holds the lock for a fixed time and a time for each message: a straight line through what was measured with 1, 2 and 4
 * processes (`docs/performance.md`: 12.1 ms for 62 messages, 8.3 ms for 32, 5.6 ms for 16).
 */
const FIXED_MS = 3.34;
const MESSAGE_MS = 0.141;
/** Events of one commit (`GROUP_EVENTS_MAX` of `lib/event-log`); accepting a message is one. */
const COMMIT_MAX = 1_000;
/** Longest wait of a message for its commit. A load beyond is too much. */
const WAIT_MS_MAX = 250;
const SIMULATED_MS = 5_000;

interface Load {
  readonly perSecond: number;
  readonly processes: number;
  /** Logs that share the organizations evenly. */
  readonly logs: number;
}

/** Commits of one log, in turns: a process waits again as soon as it has messages. */
const simulate = ({ perSecond, processes, logs }: Load) => {
  const perMs = perSecond / 1000 / processes / logs;
  /** Messages that arrived before this time are committed. */
  const upToMs = Array.from({ length: processes }, () => 0);
  let nowMs = 0;
  let committed = 0;
  let longestMs = 0;
  for (let turn = 0; nowMs < SIMULATED_MS; turn += 1) {
    const process = turn % processes;
    const sinceMs = upToMs[process] ?? 0;
    const batch = Math.min(COMMIT_MAX, Math.floor((nowMs - sinceMs) * perMs));
    // Nothing waits: the lock is free for a moment.
    nowMs += batch === 0 ? 0.1 : FIXED_MS + MESSAGE_MS * batch;
    if (batch === 0) continue;
    // The oldest of them arrived one interval after the last one committed.
    longestMs = Math.max(longestMs, nowMs - sinceMs - 1 / perMs);
    upToMs[process] = sinceMs + batch / perMs;
    committed += batch;
  }
  return { perSecond: (committed / nowMs) * 1000 * logs, longestMs };
};

/** The most that leaves no message waiting too long, to the next hundred. */
const mostPerSecond = (part: Omit<Load, 'perSecond'>): number => {
  let perSecond = 100;
  while (simulate({ ...part, perSecond: perSecond + 100 }).longestMs <= WAIT_MS_MAX) perSecond += 100;
  return perSecond;
};

const ROWS = [1, 2, 4].flatMap((logs) => [2, 8, 16].map((processes) => ({ logs, processes })));
const tableRow = (part: Omit<Load, 'perSecond'>): string =>
  `| ${part.logs} | ${part.processes} | ${mostPerSecond(part).toLocaleString('en')} |`;

test('the documented bounds of the log are those of the simulation', () => {
  const documented = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  for (const row of ROWS.map(tableRow)) expect(documented).toContain(row);
});

test.each([
  [1, 1_025, 12.1],
  [2, 1_358, 8.3],
  [4, 1_047, 5.6],
])(
  'with %i processes the lock is held for less than half of the time: the processors were the bound',
  (processes, perSecond, holdMs) => {
    const batch = (holdMs - FIXED_MS) / MESSAGE_MS;
    const share = (perSecond / batch) * (holdMs / 1000);
    expect(share).toBeLessThan(0.5);
    expect(simulate({ processes, perSecond, logs: 1 }).longestMs).toBeLessThan(WAIT_MS_MAX);
  },
);
