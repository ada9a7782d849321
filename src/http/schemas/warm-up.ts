import { z } from 'zod';
import type { Places } from '../../domain/warm-up/allot-places.ts';
import { lastDayOf, type Plan, type PlannedDay } from '../../domain/warm-up/warm-up.ts';

const dayShape = () => z.string().meta({ format: 'date' });

const destinationShape = z.strictObject({
  destination: z.string().describe('Who runs its mail servers.'),
  recipients: z
    .number()
    .int()
    .describe('As many were sent to, or may be by places that are set aside: a twentieth of the share at a time.'),
});

export const warmUpShape = z.strictObject({
  object: z.literal('domain_warm_up'),
  domain_id: z.string(),
  status: z.enum(['none', 'running', 'over']).describe('`none`: never begun, or ended before its time.'),
  plan: z.array(z.number().int()).describe('Recipients a day and destination, from the first day on.'),
  starts_on: dayShape().nullable(),
  ends_on: dayShape().nullable().describe('The last day on which mail is held back.'),
  day: z.number().int().nullable().describe('Today’s number, from 1; null: no plan runs.'),
  recipients_max: z.number().int().nullable().describe('Of each destination today; null: no plan runs.'),
  today: z.array(destinationShape).describe('Those that got most today, at most a hundred.'),
});

/** A longer list shows those that are far from their share; the log has all. */
const SHOWN_MAX = 100;

export interface WarmUpNow {
  readonly plan: Plan | null;
  readonly planned: PlannedDay | null;
  readonly taken: Places;
}

const statusOf = ({ plan, planned }: WarmUpNow): z.infer<typeof warmUpShape>['status'] => {
  if (plan === null) return 'none';
  return planned === null ? 'over' : 'running';
};

export const showWarmUp = (domainId: string, now: WarmUpNow): z.infer<typeof warmUpShape> => {
  const { plan, planned, taken } = now;
  const most = [...taken].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, SHOWN_MAX);
  return {
    ...{ object: 'domain_warm_up', domain_id: domainId, status: statusOf(now), plan: [...(plan?.caps ?? [])] },
    ...{ starts_on: plan?.startsOn ?? null, ends_on: plan === null ? null : lastDayOf(plan) },
    ...{ day: planned?.number ?? null, recipients_max: planned?.cap ?? null },
    today: most.map(([destination, recipients]) => ({ destination, recipients })),
  };
};
