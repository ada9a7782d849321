import type { FailPointName } from '../harness/fault-points.ts';
import type { Environment } from '../harness/programs.ts';
import type { Scenario } from '../harness/scenario.ts';
import { inWorld } from './in-world.ts';
import { passingOf } from './passing.ts';
import { sendAll } from './send-all.ts';

const APART = { api: { ROLES: 'api' }, workers: { ROLES: 'workers' }, projections: { ROLES: 'projections' } } as const;
type Role = keyof typeof APART;

const POINTS: readonly (readonly [Role, FailPointName])[] = [
  ['api', 'before-append-accepted'],
  ['api', 'after-append-accepted'],
  ['workers', 'before-append-started'],
  ['workers', 'after-append-started'],
  ['workers', 'after-mail-send'],
  ['workers', 'after-append-outcome'],
  ['workers', 'after-queue-add'],
  ['workers', 'after-webhook-post'],
  ['projections', 'before-checkpoint'],
  ['projections', 'after-checkpoint'],
];

const oneOfThree = (role: Role, point: FailPointName): Scenario => ({
  name: `three processes, the ${role} killed ${point}`,
  run: (seed) =>
    inWorld({ programs: APART }, async ({ programs, load }) => {
      const others = Object.keys(APART).filter((each) => each !== role);
      await programs.start({}, ...others);
      await programs.startToDie({ OUTBOX_FAIL_POINT: passingOf(point, seed) }, role);
      await sendAll(load);
      await programs.died(role);
      await programs.start();
    }),
});

interface Pair {
  readonly role: 'workers' | 'projections';
  readonly point: FailPointName;
}

/** Nothing is restarted: the other process takes over the claims of the dead one. */
const oneOfTwo = ({ role, point }: Pair): Scenario => ({
  name: `two ${role} processes, one killed ${point} and never started again`,
  run: (seed) => {
    const rest = role === 'workers' ? 'api,projections' : 'api,workers';
    const environments: Readonly<Record<string, Environment>> = {
      rest: { ROLES: rest },
      one: { ROLES: role },
      other: { ROLES: role },
    };
    return inWorld({ programs: environments }, async ({ programs, load }) => {
      await programs.start({}, 'rest');
      await programs.startToDie({ OUTBOX_FAIL_POINT: passingOf(point, seed) }, 'one');
      const sending = sendAll(load);
      await programs.died('one');
      await Promise.all([sending, programs.start({}, 'other')]);
    });
  },
});

const PAIRS: readonly Pair[] = [
  { role: 'workers', point: 'after-append-started' },
  { role: 'workers', point: 'after-mail-send' },
  { role: 'workers', point: 'before-webhook-finish' },
  { role: 'projections', point: 'before-checkpoint' },
];

export const ROLE_CRASHES: readonly Scenario[] = [
  ...POINTS.map(([role, point]) => oneOfThree(role, point)),
  ...PAIRS.map(oneOfTwo),
];
