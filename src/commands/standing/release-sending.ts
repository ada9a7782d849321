import { releaseSending as decide } from '../../domain/standing/release-sending.ts';
import { standing, standingStream } from '../../domain/standing/standing.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/**
 * Lets the bulk mail of the caller's own domain go on, whatever became of it until now.
 * @returns whether anything was held against it. @throws {Refusal} `resource_conflict`.
 */
export const releaseSending = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  domainId: string,
): Promise<boolean> => {
  const { events } = await execute(context, {
    aggregate: standing,
    stream: standingStream(domainId),
    context: eventContext({ ...origin, environment: 'live' }, context.system.now().toISOString()),
    decide: (state) => decide(state, domainId),
  });
  return events.length > 0;
};
