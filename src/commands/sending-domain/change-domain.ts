import { type ChangeDomain, changeDomain as decideChangeDomain } from '../../domain/sending-domain/change-domain.ts';
import { requireOwnDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { sendingDomainStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute } from '../execute.ts';
import type { DomainAtRevision } from './check-domain.ts';

/**
 * Changes the settings of a domain. Mail that was accepted before keeps what it was accepted with.
 * @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`.
 */
export const changeDomain = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  {
    domainId,
    settings,
    ...condition
  }: Condition & {
    readonly domainId: string;
    readonly settings: Omit<ChangeDomain, 'organizationId'>;
  },
): Promise<DomainAtRevision> => {
  const { organizationId } = origin;
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream: sendingDomainStream(domainId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (before) => decideChangeDomain(before, { organizationId, ...settings }),
    ...condition,
  });
  return { domain: requireOwnDomain(state, organizationId), revision: Number(revision) };
};
