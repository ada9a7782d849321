import { setInterval } from 'node:timers';
import { type Connection, openConnection } from './connection.ts';
import { createHistogram, type Histogram } from './histogram.ts';
import { createPace, type Extent } from './pace.ts';

export interface Drive {
  readonly url: URL;
  /** Complete requests, head and body, sent in rotation. */
  readonly requests: readonly Buffer[];
  readonly connections: number;
  readonly extent: Extent;
}

export interface DriveResult {
  /** Number of responses by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Time from when a request was due until its response. */
  readonly times: Histogram;
  /** Time from the first request to the last response. */
  readonly elapsedMs: number;
}

/** Maximum delay of a due request. Shorter: takes more processor time from the measurement. */
const TICK_MS = 2;
/** Without any response for this long, something is stuck. */
const PATIENCE_MS = 30_000;

interface Lane {
  readonly connection: Connection;
  dueMs: number;
}

/**
 * Sends until the extent is reached and waits for every response. @throws if a connection is lost or no response
 * arrives.
 */
export const drive = async ({ url, requests, connections, extent }: Drive): Promise<DriveResult> => {
  const statuses = new Map<number, number>();
  const times = createHistogram();
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  ended.catch(() => undefined); // avoids an unhandled rejection before a caller waits
  const lanes: Lane[] = [];
  const idle: Lane[] = [];
  let sent = 0;
  let lastMs = performance.now();

  const answered = (lane: Lane, status: number): void => {
    lastMs = performance.now();
    times.record(lastMs - lane.dueMs);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    advance(lane);
  };
  const open = async (): Promise<void> => {
    let lane: Lane | undefined;
    const onAnswer = (status: number): void => {
      if (lane !== undefined) answered(lane, status);
    };
    lane = { connection: await openConnection({ url, onAnswer, onLost: reject }), dueMs: 0 };
    lanes.push(lane);
  };
  await Promise.race([ended, Promise.all(Array.from({ length: connections }, open))]);

  const beganMs = performance.now();
  const pace = createPace(extent, beganMs);
  /** @returns true if there was a request to send. */
  const advance = (lane: Lane): boolean => {
    const nowMs = performance.now();
    const dueMs = pace.dueMs(sent, nowMs);
    const request = requests[sent % requests.length];
    if (dueMs === null || request === undefined) {
      idle.push(lane);
      if (idle.length === lanes.length && pace.isOver(sent, nowMs)) resolve();
      return false;
    }
    sent += 1;
    lane.dueMs = dueMs;
    lane.connection.send(request);
    return true;
  };
  const wake = (): void => {
    for (let lane = idle.pop(); lane !== undefined && advance(lane); ) lane = idle.pop();
    if (performance.now() - Math.max(lastMs, beganMs) > PATIENCE_MS) reject(new Error('answers have ceased to come'));
  };

  idle.push(...lanes);
  wake();
  const timer = setInterval(wake, 'perSecond' in extent ? TICK_MS : PATIENCE_MS / 2);
  await ended.finally(() => {
    clearInterval(timer);
    for (const { connection } of lanes) connection.close();
  });
  return { statuses, times, elapsedMs: lastMs - beganMs };
};
