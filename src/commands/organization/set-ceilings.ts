import { organization, organizationStream } from '../../domain/organization/organization.ts';
import { setCeilings as decide } from '../../domain/organization/set-ceilings.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/** Highest limits the organization's keys may have from now on; null: none. @throws {DomainError} `not_found`. */
export const setCeilings = async (
  context: CommandContext,
  origin: Origin,
  ceilings: RateLimits | null,
): Promise<void> => {
  await execute(context, {
    aggregate: organization,
    stream: organizationStream(origin.organizationId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (state) => decide(state, ceilings),
  });
};
