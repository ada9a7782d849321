import { releaseSending as decide } from '../../domain/reputation/release-sending.ts';
import { senderIdOf, standing, standingStream } from '../../domain/reputation/standing.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/**
 * Lets the bulk mail of the caller's own domain, or what of it all domains' rates keep back, go on, whatever became of it.
 * @returns whether anything was held against it. @throws {DomainError} `resource_conflict`.
 */
export const releaseSending = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  domainId: string | null,
): Promise<boolean> => {
  const sender = { domainId, organizationId: origin.organizationId };
  const { events } = await execute(context, {
    aggregate: standing,
    stream: standingStream(senderIdOf(sender)),
    context: eventContext({ ...origin, environment: 'live' }, context.system.now().toISOString()),
    decide: (state) => decide(state, sender),
  });
  return events.length > 0;
};
