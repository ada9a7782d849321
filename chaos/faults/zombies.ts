import { setTimeout as sleep } from 'node:timers/promises';
import { readLog } from '../harness/evidence.ts';
import { openObserver } from '../harness/observer.ts';
import type { Environment, Programs } from '../harness/programs.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { letTimePass } from './let-time-pass.ts';
import { loadWhile } from './load-while.ts';
import { play, type Stage } from './stage.ts';

const WORKERS: Readonly<Record<string, Environment>> = {
  front: { ROLES: 'api,projections' },
  frozen: { ROLES: 'workers' },
  other: { ROLES: 'workers' },
};
const RUNNERS: Readonly<Record<string, Environment>> = {
  front: { ROLES: 'api,workers' },
  frozen: { ROLES: 'projections' },
  other: { ROLES: 'projections' },
};

/** How long a resumed process is watched. It finds its timers due and its connections closed, and reacts at once. */
const WATCHED_MS = 3_000;
/** Reply delay of the mail server, so that attempts are in every state when the worker freezes. */
const REPLY_MS = 250;

interface Traces {
  readonly mails: number;
  readonly position: string;
  readonly doubts: number;
  /** Events in log order. */
  readonly written: readonly { readonly type: string; readonly actor: string }[];
}

const tracesOf = async (world: World): Promise<Traces> => {
  const observer = await openObserver(world);
  try {
    const log = await readLog(observer);
    return {
      mails: world.sink.mails.length,
      position: log.at(-1)?.position ?? '',
      doubts: log.filter(({ type }) => type === 'AttemptOutcomeUnknown').length,
      written: log.map(({ type, metadata: { actor } }) => ({ type, actor })),
    };
  } finally {
    await observer.close();
  }
};

const signal = (programs: Programs, name: NodeJS.Signals): boolean => programs.running('frozen').child.kill(name);

/** Freezes a process under load until the others have done all the work. */
const freeze = async ({ world, clock }: Stage): Promise<void> => {
  const { load, programs } = world;
  await loadWhile(load, async () => {
    await sleep(1_000);
    signal(programs, 'SIGSTOP');
    await sleep(1_000);
  });
  await load.settle();
  if (await letTimePass({ world, clock })) return;
  signal(programs, 'SIGCONT');
  throw new Error('the other process did not continue what the frozen one had claimed');
};

const slowReplies = ({ sink }: World): void => {
  for (const command of ['DATA', 'DOT'] as const) {
    sink.whenever({ command, when: 'arrived' }, async () => {
      await sleep(REPLY_MS);
      return undefined;
    });
  }
};

/** All work is done when the process resumes, so anything it does then belongs to an attempt it no longer owns. */
const frozenWorker: Scenario = {
  name: 'a worker is frozen for longer than its lease and comes back',
  run: () =>
    play({
      options: async () => ({ programs: WORKERS }),
      act: async (stage) => {
        const { world } = stage;
        slowReplies(world);
        const end = world.disturbances.begin('a worker is frozen');
        await freeze(stage);
        const before = await tracesOf(world);
        if (before.doubts === 0) throw new Error('the worker had claimed nothing when it froze');
        signal(world.programs, 'SIGCONT');
        await sleep(WATCHED_MS);
        end();
        const after = await tracesOf(world);
        if (after.mails > before.mails)
          throw new Error(`it sent ${after.mails - before.mails} mails when it came back`);
        if (after.position === before.position) return;
        const written = after.written.slice(before.written.length).map(({ type, actor }) => `${type} by ${actor}`);
        throw new Error(`it wrote to the log when it came back: ${written.join(', ')}`);
      },
    }),
};

const frozenRunner: Scenario = {
  name: 'a projection runner is frozen under load and comes back',
  run: () =>
    play({
      options: async () => ({ programs: RUNNERS, firstStarted: ['frozen'] }),
      doubles: 'never',
      act: async (stage) => {
        await freeze(stage);
        signal(stage.world.programs, 'SIGCONT');
        await loadWhile(stage.world.load, () => sleep(WATCHED_MS));
      },
    }),
};

export const ZOMBIES: readonly Scenario[] = [frozenWorker, frozenRunner];
