import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { SmtpAnswer, SmtpMoment } from '../harness/smtp-plan.ts';
import type { SinkMail } from '../harness/smtp-sink.ts';
import type { World } from '../harness/world.ts';
import { inWorld } from './in-world.ts';

/** Expected number of copies of the message. */
type Copies = 1 | 2;

interface Moment {
  readonly name: string;
  readonly copies: Copies;
  /** Starts the program and sends; the program dies on the way. */
  die(world: World): Promise<void>;
}

const at = (point: FailPointName, copies: Copies): Moment => ({
  name: point,
  copies,
  die: async ({ programs, load }) => {
    await programs.startToDie({ OUTBOX_FAIL_POINT: point });
    await load.singles(1);
    await programs.died();
  },
});

const when = (moment: SmtpMoment, copies: Copies, answer?: SmtpAnswer): Moment => ({
  name: `when ${moment.command} ${moment.when === 'arrived' ? 'had arrived' : 'was answered'}${answer === undefined ? '' : ', and the server too'}`,
  copies,
  die: async ({ programs, load, sink }) => {
    sink.at(moment, async () => {
      programs.kill();
      await programs.died();
      return answer;
    });
    await programs.start();
    await load.singles(1);
    await programs.died();
  },
});

/** Between the final dot and the recorded outcome a crash causes a second copy; at any other moment it does not. */
const MOMENTS: readonly Moment[] = [
  ...[at('before-append-started', 1), at('after-append-started', 1), at('before-mail-send', 1)],
  ...[when({ command: 'MAIL', when: 'arrived' }, 1), when({ command: 'RCPT', when: 'replied' }, 1)],
  ...[when({ command: 'DATA', when: 'arrived' }, 1), when({ command: 'DATA', when: 'replied' }, 1)],
  when({ command: 'DOT', when: 'arrived' }, 1, 'hang up'),
  when({ command: 'DOT', when: 'arrived' }, 2),
  ...[at('after-mail-send', 2), at('before-append-outcome', 2)],
  at('after-append-outcome', 1),
];

const scenarioOf = ({ name, copies, die }: Moment): Scenario => ({
  name: `a lone message, killed ${name}: ${copies === 1 ? 'one copy' : 'two copies under one Message-ID'}`,
  run: async () => {
    let mails: readonly SinkMail[] = [];
    const act = async (world: World): Promise<void> => {
      mails = world.sink.mails;
      await die(world);
      await world.programs.start();
    };
    const violations = await inWorld({}, act, { doubles: copies === 1 ? 'never' : 'in the window' });
    if (mails.length === copies) return violations;
    return [...violations, { promise: 'one copy', what: `${mails.length} copies arrived instead of ${copies}` }];
  },
});

/** Verifies the one window in which a recipient can get a mail twice, and its bounds. */
export const WINDOW: readonly Scenario[] = MOMENTS.map(scenarioOf);
