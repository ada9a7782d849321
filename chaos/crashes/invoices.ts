import { createOrganization } from '../../src/commands/organization.ts';
import { monthOf, previousMonth } from '../../src/domain/billing/period.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { World } from '../harness/world.ts';
import { asOperator, untilInLog } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

const MONTHS = 3;
const LOOKS_MAX = 150;

/** An organization of three months ago, whose months were not closed. @returns them. */
const makeOldOrganization = (world: World): Promise<readonly string[]> =>
  asOperator(world, async ({ context }) => {
    const last = previousMonth(monthOf(context.system.now().toISOString()));
    const months = [previousMonth(previousMonth(last)), previousMonth(last), last];
    const now = () => new Date(`${months[0]}-15T00:00:00.000Z`);
    await createOrganization(
      { ...context, system: { ...context.system, now } },
      { name: 'Of long ago', ceilings: null },
    );
    return months;
  });

const closedIn = ({ events }: Pick<Evidence, 'events'>): readonly string[] =>
  events.flatMap((event) => (event.type === 'InvoiceClosed' ? [event.data.month] : []));

/** Each month by one invoice, the earlier first. */
const eachClosedOnce =
  (months: readonly string[]) =>
  (evidence: Evidence): readonly Violation[] => {
    const closed = closedIn(evidence);
    if (closed.join() === months.join()) return [];
    return [{ promise: 'scenario', what: `closed ${closed.join(', ') || 'nothing'}, instead of ${months.join(', ')}` }];
  };

const diesOfClosing = (point: FailPointName): Scenario => {
  let months: readonly string[] = [];
  return {
    name: `killed ${point} by the invoice of a month`,
    run: () =>
      inWorld(
        {},
        async (world) => {
          const { programs, load } = world;
          months = await makeOldOrganization(world);
          await programs.startToDie({ OUTBOX_FAIL_POINT: point });
          await programs.died();
          await programs.start();
          await sendAll(load);
          await untilInLog(world, (log) => closedIn({ events: log }).length >= MONTHS, {
            looksMax: LOOKS_MAX,
            never: 'the months were not all closed',
          });
        },
        { more: (evidence) => eachClosedOnce(months)(evidence) },
      ),
  };
};

/** An invoice is one append at the revision read: a crash leaves it or not, and the next process goes on from there. */
export const INVOICE_CRASHES: readonly Scenario[] = [
  diesOfClosing('before-append-invoice'),
  diesOfClosing('after-append-invoice'),
];
