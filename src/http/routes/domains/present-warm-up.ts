import type { z } from 'zod';
import { load } from '../../../commands/execute.ts';
import { dayOf } from '../../../domain/warm-up/day.ts';
import { plannedDay, type WarmUp } from '../../../domain/warm-up/warm-up.ts';
import { warmUpDay, warmUpDayStream } from '../../../domain/warm-up/warm-up-day.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { showWarmUp, type warmUpShape } from '../../schemas/warm-up.ts';

/** A domain's warm-up with what was taken of today's share; that is read only where there is one. */
export const presentWarmUp = async (
  { context: { store, system } }: Pick<HttpDependencies, 'context'>,
  domainId: string,
  { plan }: WarmUp,
): Promise<z.infer<typeof warmUpShape>> => {
  const today = dayOf(system.now());
  const planned = plan === null ? null : plannedDay(plan, today);
  const { state } =
    planned === null ? { state: warmUpDay.initial } : await load(store, warmUpDay, warmUpDayStream(domainId, today));
  return showWarmUp(domainId, { plan, planned, taken: state.taken });
};
