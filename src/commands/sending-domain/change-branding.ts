import { changeBranding as decideChangeBranding } from '../../domain/sending-domain/change-domain.ts';
import type { Branding } from '../../domain/sending-domain/events.ts';
import { requireOwnDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { sendingDomainStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute } from '../execute.ts';
import type { DomainAtRevision } from './check-domain.ts';

/**
 * Changes how pages for recipients show the sender.
 * @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`.
 */
export const changeBranding = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { domainId, branding, ...condition }: Condition & { readonly domainId: string; readonly branding: Branding | null },
): Promise<DomainAtRevision> => {
  const { organizationId } = origin;
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream: sendingDomainStream(domainId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (before) => decideChangeBranding(before, { organizationId, branding }),
    ...condition,
  });
  return { domain: requireOwnDomain(state, organizationId), revision: Number(revision) };
};
