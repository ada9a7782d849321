import { destination, destinationStream } from '../../domain/destination/destination.ts';
import { releaseDestination as decide } from '../../domain/destination/release-destination.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/** Lets a destination have mail again before its suspension ends. @returns whether it was suspended. */
export const releaseDestination = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  operator: string,
): Promise<boolean> => {
  const now = context.system.now().toISOString();
  const { events } = await execute(context, {
    aggregate: destination,
    stream: destinationStream(operator),
    context: eventContext({ ...origin, environment: null }, now),
    decide: (state) => decide(state, operator, now),
  });
  return events.length > 0;
};
