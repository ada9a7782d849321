import type { Violation } from '../harness/violation.ts';
import { planBadDays } from './bad-days.ts';
import type { Breakage } from './breakage.ts';
import { createAsk, pauseIn } from './clients/ask.ts';
import { createDesk, type Desk } from './clients/desk.ts';
import { KEY_ACTIONS } from './clients/key-actions.ts';
import { MAIL_ACTIONS } from './clients/mail-actions.ts';
import { createTenant } from './clients/tenant.ts';
import { createMachine, type Machine } from './machine.ts';
import { nextDueMs, type Rest, restOf } from './rest.ts';
import { judgeAtRest } from './rules/at-rest.ts';
import { watchAdminKeys, watchLog } from './rules/watch-log.ts';
import { watchMail } from './rules/watch-mail.ts';
import { createWorld, type World } from './world.ts';

export interface SimulateOptions {
  readonly breakage?: Breakage;
  readonly keepTrace?: boolean;
}

/** Result of a run: the broken rules and a fingerprint. */
export interface RunResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** Determined by the seed; different for each. */
  readonly digest: string;
  /** Empty unless the trace is kept. */
  readonly trace: readonly string[];
  readonly steps: number;
  readonly accepted: number;
  readonly copies: number;
  readonly disturbances: number;
}

const MACHINES = [1, 2, 2, 3];
const CLIENTS_MAX = 4;
const ACTIONS_MAX = 6;
const TROUBLE_MS_MIN = 3000;
const TROUBLE_MS_MAX = 30_000;
const KEY_SHARE = 0.15;
/** More than any run needs: a run that reaches it is in an endless loop. */
const STEPS_MAX = 40_000;
/** Deadline after the faults have ended. It covers the slowest clock and the longest stand-by. */
const LATE_MS_MAX = 60_000;
/** Steps between checks for completion, because a check costs as much as some steps. */
const LOOK_EVERY_STEPS = 40;
/** Idle time longer than this is skipped instead of simulated. */
const IDLE_MS = 1500;

const client = async (desk: Desk, untilMs: number): Promise<void> => {
  const { world } = desk;
  const { random } = world.ground;
  const actions = random.between(1, ACTIONS_MAX);
  for (let done = 0; done < actions; done += 1) {
    await pauseIn(world, random.between(0, Math.round((2 * untilMs) / ACTIONS_MAX)));
    await random.pick(random.chance(KEY_SHARE) ? KEY_ACTIONS : MAIL_ACTIONS)(desk);
  }
};

const stepUntil = async ({ ground: { scheduler }, violations }: World, isDone: () => boolean): Promise<boolean> => {
  while (violations.length === 0 && scheduler.steps() < STEPS_MAX) {
    if (scheduler.steps() % LOOK_EVERY_STEPS === 0 && isDone()) return true;
    if (!(await scheduler.step())) return isDone();
  }
  return false;
};

/** Skips idle time when every process waits. Steps due by then run late, which is allowed. */
const skipIdleTime = (world: World, machines: readonly Machine[]): Rest => {
  const { scheduler, startMs } = world.ground;
  const rest = restOf(world, machines);
  if (rest === 'busy') return rest;
  const untilMs = Math.min(nextDueMs(world) - startMs, scheduler.nextAppointmentMs());
  if (Number.isFinite(untilMs) && untilMs - scheduler.nowMs() > IDLE_MS) scheduler.skipTo(untilMs - IDLE_MS / 2);
  return rest;
};

const isWorking = (machine: Machine): boolean => machine.life()?.process.isFrozen() === false;

/** Runs without faults until everything accepted has ended. */
const settle = async (world: World, machines: readonly Machine[]): Promise<void> => {
  const { scheduler, startMs } = world.ground;
  const settled = await stepUntil(world, () => {
    const rest = skipIdleTime(world, machines);
    // A process that was frozen may accept a message long after it was due; lateness counts from then.
    const lastMs = world.log.events().at(-1)?.atMs ?? 0;
    const lateMs = scheduler.nowMs() - Math.max(nextDueMs(world) - startMs, lastMs);
    if (rest === 'idle' && lateMs > LATE_MS_MAX && machines.every(isWorking))
      world.violate('accepted is settled', 'due work is not done');
    return rest === 'done';
  });
  if (!settled && world.violations.length === 0) world.violate('accepted is settled', 'it does not come to rest');
};

const trouble = async (world: World, machines: readonly Machine[], desk: Desk): Promise<void> => {
  const { random, scheduler, faults } = world.ground;
  const untilMs = random.between(TROUBLE_MS_MIN, TROUBLE_MS_MAX);
  planBadDays(world, machines, untilMs);
  let clients = random.between(1, CLIENTS_MAX);
  for (let index = clients; index > 0; index -= 1) {
    void client(desk, untilMs).then(() => {
      clients -= 1;
    });
  }
  scheduler.appoint(untilMs, 'the trouble ends', faults.end);
  await stepUntil(world, () => {
    skipIdleTime(world, machines);
    return clients === 0 && faults.haveEnded();
  });
};

/** Runs the whole core once, on one thread, in simulated time. The seed determines everything. */
export const simulate = async (
  seed: number,
  { breakage = {}, keepTrace = false }: SimulateOptions = {},
): Promise<RunResult> => {
  const world = createWorld(seed, { keepTrace });
  const { random, scheduler, trace, disturbances } = world.ground;
  watchLog(world);
  const mail = watchMail(world);
  const tenant = await createTenant(world);
  watchAdminKeys(world, tenant.organizationId);
  const names = ['a', 'b', 'c'].slice(0, random.pick(MACHINES));
  const machines = names.map((name) => createMachine(world, name, breakage));
  const desk = createDesk(world, tenant, createAsk(world, machines));
  await trouble(world, machines, desk);
  await settle(world, machines);
  if (world.violations.length === 0) {
    mail.judge();
    await desk.judge();
    await judgeAtRest(world);
  }
  return {
    seed,
    violations: world.violations,
    digest: trace.digest(),
    trace: trace.lines(),
    steps: scheduler.steps(),
    accepted: world.log.events().filter(({ event }) => event.type === 'MessageAccepted').length,
    copies: world.office.copies().length,
    disturbances: disturbances().length,
  };
};
