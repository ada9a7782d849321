import { destination, destinationStream } from '../../domain/destination/destination.ts';
import { suspendDestination as decide, type SuspendDestination } from '../../domain/destination/suspend-destination.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute } from '../execute.ts';

/** Nobody's in particular: mail servers of others are the same for every organization. */
const NO_ORGANIZATION = '';

/** Puts on record that a destination gets nothing for a while; once, whoever else finds it so. */
export const suspendDestination = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  suspension: SuspendDestination,
): Promise<void> => {
  const now = context.system.now().toISOString();
  const { operator } = suspension;
  await execute(context, {
    aggregate: destination,
    stream: destinationStream(operator),
    context: eventContext(
      {
        ...{ actor: 'worker:deliver-message', organizationId: NO_ORGANIZATION, environment: null, requestId: null },
        ...{ correlationId: operator, causationId: operator },
      },
      now,
    ),
    decide: (state) => decide(state, suspension, now),
  });
};
