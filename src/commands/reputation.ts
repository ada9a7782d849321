import { reputationStream } from '../domain/kernel/streams.ts';
import {
  evaluateReputation as decideEvaluateReputation,
  pauseBulkMail as decidePauseBulkMail,
  releaseSending as decideReleaseSending,
  type EvaluateReputation,
  type Reputation,
  reputation,
  senderIdOf,
} from '../domain/reputation/reputation.ts';
import { type CommandContext, eventContext, execute, internalOrigin, type Origin } from './execute.ts';

/** Records the reputation that follows from the rates of a sender's live bulk mail. Recorded once, also when several processes evaluate it. */
export const evaluateReputation = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  judged: EvaluateReputation,
): Promise<void> => {
  const { organizationId } = judged;
  const senderId = senderIdOf(judged);
  await execute(context, {
    aggregate: reputation,
    stream: reputationStream(senderId),
    context: eventContext(
      internalOrigin({ actor: 'worker:judge-senders', organizationId, environment: 'live', causeId: senderId }),
      context.system.now().toISOString(),
    ),
    decide: (state) => decideEvaluateReputation(state, judged),
  });
};

/**
 * Releases the bulk mail of the caller's domain (or organization, with null) whatever its rates are.
 * @returns whether it had been warned, slowed or paused. @throws {DomainError} `resource_conflict`.
 */
export const releaseSending = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  domainId: string | null,
): Promise<boolean> => {
  const sender = { domainId, organizationId: origin.organizationId };
  const { events } = await execute(context, {
    aggregate: reputation,
    stream: reputationStream(senderIdOf(sender)),
    context: eventContext({ ...origin, environment: 'live' }, context.system.now().toISOString()),
    decide: (state) => decideReleaseSending(state, sender),
  });
  return events.length > 0;
};

/** Pauses all live bulk mail of the caller's organization, or resumes it. @throws {DomainError} `resource_conflict`. */
export const pauseBulkMail = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  paused: boolean,
): Promise<Reputation> => {
  const { organizationId } = origin;
  const { state } = await execute(context, {
    aggregate: reputation,
    stream: reputationStream(organizationId),
    context: eventContext({ ...origin, environment: 'live' }, context.system.now().toISOString()),
    decide: (before) => decidePauseBulkMail(before, { organizationId, paused }),
  });
  return state;
};
