import { chosenFor } from '../harness/order.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { SmtpAnswer, SmtpCommand, SmtpMoment } from '../harness/smtp-plan.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';
import { ALL, sendAll } from './send-all.ts';

/** Waits until the client is dead before the server continues, so that it never sees the next reply. */
const killClient = async ({ programs }: World): Promise<void> => {
  programs.kill();
  await programs.died();
};

interface Point extends SmtpMoment {
  /** Minimum number of occurrences over all sessions. */
  readonly comes: number;
  readonly answer?: SmtpAnswer;
}

const bothAt = (command: SmtpCommand, comes: number): readonly Point[] => [
  { command, when: 'arrived', comes },
  { command, when: 'replied', comes },
];

const POINTS: readonly Point[] = [
  ...bothAt('CONNECT', 1),
  ...bothAt('EHLO', 1),
  ...bothAt('MAIL', ALL),
  ...bothAt('RCPT', ALL),
  ...bothAt('DATA', ALL),
  ...bothAt('DOT', ALL),
  // The server dies in the same power cut: it has received the message but never accepted it.
  { command: 'DOT', when: 'arrived', comes: ALL, answer: 'hang up' },
];

const nameOf = ({ command, when, answer }: Point): string =>
  `killed when ${command} ${when === 'arrived' ? 'had arrived' : 'was answered'}${answer === undefined ? '' : ', and the server too'}`;

const diesAt = (point: Point): Scenario => ({
  name: nameOf(point),
  run: (seed) =>
    inWorld({}, async (world) => {
      const act = async (): Promise<SmtpAnswer | undefined> => {
        await killClient(world);
        return point.answer;
      };
      world.sink.at(point, act, chosenFor(seed, nameOf(point), point.comes));
      await world.programs.start();
      await sendAll(world.load);
      await world.programs.died();
      await world.programs.start();
    }),
});

/** After a rejected message a session is reset before it is reused. */
const diesAtReset = (when: SmtpMoment['when']): Scenario => ({
  name: `killed when RSET ${when === 'arrived' ? 'had arrived' : 'was answered'}`,
  run: () =>
    inWorld({}, async (world) => {
      const { programs, load, sink } = world;
      sink.at({ command: 'DATA', when: 'arrived' }, () => ({ reply: '554 5.7.1 not from you' }));
      sink.at({ command: 'RSET', when }, () => killClient(world).then(() => undefined));
      await programs.start();
      await load.toMany(3);
      await programs.died();
      await programs.start();
      await sendAll(load);
    }),
});

/** Sessions end when the service shuts down. */
const diesAtQuit = (when: SmtpMoment['when']): Scenario => ({
  name: `killed when QUIT ${when === 'arrived' ? 'had arrived' : 'was answered'}`,
  run: () =>
    inWorld({}, async (world) => {
      const { programs, load, sink } = world;
      const died = new Promise<void>((resolve, reject) => {
        sink.at({ command: 'QUIT', when }, () => {
          killClient(world).then(resolve, reject);
          return undefined;
        });
      });
      await programs.start();
      await sendAll(load);
      programs.running().child.kill('SIGTERM');
      await died;
      await programs.start();
    }),
});

/** The mail server kills the program immediately before or after each of its replies. */
export const SMTP_CRASHES: readonly Scenario[] = [
  ...POINTS.map(diesAt),
  ...[diesAtReset('arrived'), diesAtReset('replied'), diesAtQuit('arrived'), diesAtQuit('replied')],
];
