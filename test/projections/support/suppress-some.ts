import { completeErasure, requestErasure } from '../../../src/commands/erasure.ts';
import type { CommandContext, Origin } from '../../../src/commands/execute.ts';
import {
  type AddSuppression,
  addSuppressions,
  recordOptIns,
  removeSuppression,
} from '../../../src/commands/suppression.ts';
import { createTopic, deleteTopic } from '../../../src/commands/topic.ts';
import { ERASURE_COUNTS_NONE } from '../../../src/domain/erasure/erasure.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';

/**
 * Adds a random address to an organization's list or removes one, or creates a topic with some opt-ins.
 * @param below a number in [0, limit).
 */
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
  const topic = { name: `Offers ${below(10)}`, description: null, default: 'in', domainId: null } as const;
  const { topic: made } = await createTopic(context, origin, topic);
  const { topicId } = made;
  const optIn = { environment, topicId, evidence: null, addresses: [one.address, `fan${below(10)}@example.net`] };
  await recordOptIns(context, origin, optIn);
  if (below(2) === 0) {
    await addSuppressions(context, origin, [{ ...one, reason: 'manual', scope: 'topic', topicId }]);
  }
  if (below(2) === 0) await deleteTopic(context, origin, { topicId });
  const [result] = await addSuppressions(context, origin, [one]);
  if (result === undefined || result instanceof DomainError || below(2) === 0) return;
  await removeSuppression(context, origin, { suppressionId: result.suppression.suppressionId, environment });
};

/** Requests the erasure of a random address. Half of them are completed. @param below a number in [0, limit). */
export const eraseOne = async (context: CommandContext, origin: Origin, below: (limit: number) => number) => {
  const asked = { address: `unwanted${below(10)}@example.net`, reason: 'requested', suppress: false } as const;
  const { erasure } = await requestErasure(context, origin, asked);
  if (below(2) === 0) await completeErasure(context, erasure, ERASURE_COUNTS_NONE);
};
