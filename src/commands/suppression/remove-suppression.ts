import type { Environment } from '../../domain/environment.ts';
import { removeSuppression as decide } from '../../domain/suppression/remove-suppression.ts';
import { suppression, suppressionStream } from '../../domain/suppression/suppression.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute } from '../execute.ts';

/** Takes an address off the list. @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const removeSuppression = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  {
    suppressionId,
    environment,
    ...condition
  }: Condition & { readonly suppressionId: string; readonly environment: Environment },
): Promise<void> => {
  await execute(context, {
    aggregate: suppression,
    stream: suppressionStream(suppressionId),
    context: eventContext({ ...origin, environment }, context.system.now().toISOString()),
    decide: (state) => decide(state, { organizationId: origin.organizationId, environment }),
    ...condition,
  });
};
