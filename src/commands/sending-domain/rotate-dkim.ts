import { requireOwnDomain } from '../../domain/sending-domain/own-domain.ts';
import { rotateDkim as decideRotateDkim } from '../../domain/sending-domain/rotate-dkim.ts';
import { sendingDomain, sendingDomainStream } from '../../domain/sending-domain/sending-domain.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute, load, requireRevision } from '../execute.ts';
import type { DomainAtRevision } from './check-domain.ts';
import { makeKeys } from './make-keys.ts';

/**
 * Makes new keys for a domain; those it has go on signing until the new ones are seen in the DNS.
 * @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`.
 * @throws {DkimKeysBusy}
 */
export const rotateDkim = async (
  context: CommandContext,
  origin: Origin,
  { domainId, ...condition }: Condition & { readonly domainId: string },
): Promise<DomainAtRevision> => {
  const { organizationId } = origin;
  const stream = sendingDomainStream(domainId);
  const known = await load(context.store, sendingDomain, stream);
  requireOwnDomain(known.state, organizationId);
  requireRevision(condition, known);
  const keys = await makeKeys(context, organizationId);
  const { state, revision } = await execute(context, {
    ...{ aggregate: sendingDomain, stream, known },
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (before) => decideRotateDkim(before, { organizationId, keys }),
    ...condition,
  });
  return { domain: requireOwnDomain(state, organizationId), revision: Number(revision) };
};
