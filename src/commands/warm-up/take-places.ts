import { type AllotPlaces, type Allotted, allotPlaces } from '../../domain/warm-up/allot-places.ts';
import { type WarmUpDay, warmUpDay, warmUpDayStream } from '../../domain/warm-up/warm-up-day.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute, type Loaded } from '../execute.ts';

export interface TakePlaces extends AllotPlaces {
  readonly organizationId: string;
  /** What is known of the day already, stale or not: saves the read. */
  readonly known: Loaded<WarmUpDay> | undefined;
}

/**
 * Takes places of a day's caps for messages that are to leave, by appending at the revision read: of several processes
 * that want the last one, one has it.
 * @throws {DomainError} `resource_conflict`.
 */
export const takePlaces = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { organizationId, known, ...command }: TakePlaces,
): Promise<Pick<Allotted, 'full' | 'inHand'> & { readonly day: Loaded<WarmUpDay> }> => {
  const { domainId, day } = command;
  let allotted: Allotted | undefined;
  const { state, revision } = await execute(context, {
    aggregate: warmUpDay,
    stream: warmUpDayStream(domainId, day),
    context: eventContext(
      {
        ...{ actor: 'worker:deliver-message', organizationId, environment: 'live', requestId: null },
        ...{ correlationId: domainId, causationId: domainId },
      },
      context.system.now().toISOString(),
    ),
    decide: (before) => {
      allotted = allotPlaces(before, command);
      return allotted.events;
    },
    ...(known === undefined ? {} : { known }),
  });
  // Always decided by then; the last time by what was appended to.
  const { full = [], inHand = new Map() } = allotted ?? {};
  return { full, inHand, day: { state, revision } };
};
