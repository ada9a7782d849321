import {
  releaseDestination as decideReleaseDestination,
  suspendDestination as decideSuspendDestination,
  destination,
  type SuspendDestination,
} from '../domain/destination/suspension.ts';
import { destinationStream } from '../domain/kernel/streams.ts';
import { type CommandContext, eventContext, execute, internalOrigin, type Origin } from './execute.ts';

/** Destinations are shared by all organizations. */
const NO_ORGANIZATION = '';

/** Suspends a destination. Recorded once, also when several processes decide it. */
export const suspendDestination = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  suspension: SuspendDestination,
): Promise<void> => {
  const now = context.system.now().toISOString();
  const { operator: provider } = suspension;
  await execute(context, {
    aggregate: destination,
    stream: destinationStream(provider),
    context: eventContext(
      internalOrigin({ actor: 'worker:deliver-message', organizationId: NO_ORGANIZATION, causeId: provider }),
      now,
    ),
    decide: (state) => decideSuspendDestination(state, suspension, now),
  });
};

/** Ends a suspension early. @returns whether it was suspended. */
export const releaseDestination = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  provider: string,
): Promise<boolean> => {
  const now = context.system.now().toISOString();
  const { events } = await execute(context, {
    aggregate: destination,
    stream: destinationStream(provider),
    context: eventContext({ ...origin, environment: null }, now),
    decide: (state) => decideReleaseDestination(state, provider, now),
  });
  return events.length > 0;
};
