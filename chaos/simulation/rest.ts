import type { Machine } from './machine.ts';
import type { Operators } from './parts/operators.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

/** `busy`: something is being done. `idle`: nothing is, until something is due. `done`: nothing ever will be. */
export type Rest = 'busy' | 'idle' | 'done';

const timeOf = (value: unknown): number => (typeof value === 'string' ? Date.parse(value) : Number.NEGATIVE_INFINITY);

const isDoing = (process: Process): boolean => process.isAlive() && !process.isFrozen();

/** Whoever is down or frozen does nothing before an appointment. */
const isQuiet = ({ engine, requests, readModels, owed, unlisted }: World): boolean =>
  engine.waiting.size === 0 &&
  readModels.isCaughtUp() &&
  owed.isQuiet() &&
  unlisted.size === 0 &&
  ![...engine.hands.values(), ...requests.values()].some(isDoing);

/** What is due at a destination that gets nothing waits until it does, or the message's time is over. */
const leavesMs = (row: Readonly<Record<string, unknown>>, { suspendedUntilMs, expiryLateMs }: Operators): number => {
  const { environment, dueAt, destination, expiresAt } = row;
  if (environment === 'test') return timeOf(dueAt);
  const domain = String(destination);
  return Math.max(timeOf(dueAt), Math.min(suspendedUntilMs(domain), timeOf(expiresAt) + expiryLateMs(domain)));
};

/** When the next thing is due (ms since the epoch): a message, a webhook or the end of a key; infinity: nothing is. */
export const nextDueMs = ({ readModels: { tables }, owed, operators }: World): number => {
  const messages = [...(tables.get('deliveries')?.values() ?? [])].map((row) => leavesMs(row, operators));
  const keys = [...(tables.get('api_keys')?.values() ?? [])].flatMap(({ status, expiresAt, expiryNoted }) =>
    status === 'active' && expiryNoted === false && expiresAt !== null ? [timeOf(expiresAt)] : [],
  );
  return Math.min(...messages, ...keys, ...owed.dues.values());
};

/** Attempts are held until no process holds any. */
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
