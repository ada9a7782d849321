import type { Machine } from './machine.ts';
import type { Operators } from './parts/operators.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

/** `busy`: work is in progress. `idle`: the next work is due later. `done`: no work will ever be due. */
export type Rest = 'busy' | 'idle' | 'done';

const timeOf = (value: unknown): number => (typeof value === 'string' ? Date.parse(value) : Number.NEGATIVE_INFINITY);

const isDoing = (process: Process): boolean => process.isAlive() && !process.isFrozen();

/** True if no work is in progress. A process that is down or frozen does none before its next appointment. */
const isQuiet = ({ engine, requests, readModels, owed, unlisted }: World): boolean =>
  engine.waiting.size === 0 &&
  readModels.isCaughtUp() &&
  owed.isQuiet() &&
  unlisted.size === 0 &&
  ![...engine.hands.values(), ...requests.values()].some(isDoing);

/**
 * When a due message can be sent. A suspended destination delays it until the suspension ends or the message expires.
 */
const leavesMs = (row: Readonly<Record<string, unknown>>, { suspendedUntilMs, expiryLateMs }: Operators): number => {
  const { environment, dueAt, destination, expiresAt } = row;
  if (environment === 'test') return timeOf(dueAt);
  const domain = String(destination);
  return Math.max(timeOf(dueAt), Math.min(suspendedUntilMs(domain), timeOf(expiresAt) + expiryLateMs(domain)));
};

/** When the next message, webhook or key expiry is due, Unix time in milliseconds; infinity: never. */
export const nextDueMs = ({ readModels: { tables }, owed, operators }: World): number => {
  const messages = [...(tables.get('deliveries')?.values() ?? [])].map((row) => leavesMs(row, operators));
  const keys = [...(tables.get('api_keys')?.values() ?? [])].flatMap(({ status, expiresAt, expiryNoted }) =>
    status === 'active' && expiryNoted === false && expiresAt !== null ? [timeOf(expiresAt)] : [],
  );
  return Math.min(...messages, ...keys, ...owed.dues.values());
};

/** True while a running process holds an attempt. */
const isSending = ({ attempts, ground }: World, machines: readonly Machine[]): boolean => {
  const nowMs = ground.startMs + ground.scheduler.nowMs();
  const doing = new Set(
    machines
      .flatMap((machine) => machine.life()?.process ?? [])
      .filter(isDoing)
      .map(({ name }) => name),
  );
  return [...attempts.values()].some(({ by, leaseUntilMs }) => leaseUntilMs > nowMs && doing.has(by));
};

export const restOf = (world: World, machines: readonly Machine[]): Rest => {
  if (!isQuiet(world) || isSending(world, machines)) return 'busy';
  const isOver = nextDueMs(world) === Number.POSITIVE_INFINITY && machines.every((machine) => machine.life() !== null);
  const isTalking = [...world.office.sessions.values()].some((process) => process.isAlive());
  return isOver && !isTalking && world.engine.hands.size === 0 ? 'done' : 'idle';
};
