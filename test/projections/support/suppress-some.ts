import type { CommandContext, Origin } from '../../../src/commands/context.ts';
import {
  type AddSuppression,
  addSuppressions,
  removeSuppression,
} from '../../../src/commands/suppression/change-suppression.ts';
import { DomainError } from '../../../src/domain/domain-error.ts';

/** Puts some address on the list of some organization, or takes it off again. @param below a number in [0, limit). */
export const suppressSome = async (context: CommandContext, origin: Origin, below: (limit: number) => number) => {
  const environment = origin.environment ?? 'live';
  const one: AddSuppression = {
    environment,
    address: `unwanted${below(10)}@example.net`,
    text: 'asked for it',
    reason: below(2) === 0 ? 'manual' : 'import',
    scope: below(2) === 0 ? 'all' : 'bulk',
    expiresAt: below(3) === 0 ? new Date(context.system.now().getTime() + 1 + below(100_000_000)).toISOString() : null,
  };
  const [result] = await addSuppressions(context, origin, [one]);
  if (result === undefined || result instanceof DomainError || below(2) === 0) return;
  await removeSuppression(context, origin, { suppressionId: result.suppression.suppressionId, environment });
};
