import { verifyByCapture } from '../../domain/sending-domain/change-domain.ts';
import { RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import { requireOwnDomain, type SendingDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { sendingDomainStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute, type Loaded, load, requireRevision } from '../execute.ts';
import { type CheckedDomain, checkDomain } from './check-domain.ts';
import { takeName } from './domain-name.ts';

const capture = async (
  context: CommandContext,
  origin: Origin,
  known: Loaded<SendingDomain>,
  condition: Condition,
): Promise<CheckedDomain> => {
  const { organizationId } = origin;
  const { name, domainId } = requireOwnDomain(known.state, organizationId);
  await takeName(context, origin, { name, domainId, method: 'capture' });
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream: sendingDomainStream(domainId),
    known,
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (before) => verifyByCapture(requireOwnDomain(before, organizationId)),
    ...condition,
  });
  return { domain: requireOwnDomain(state, organizationId), revision: Number(revision), records: RECORDS_UNKNOWN };
};

/**
 * Looks for the domain's records now; without those it needs the domain stays as it is.
 * @throws {DomainError} `not_found`, `other_organization`, `domain_already_exists`, `precondition_failed`, `resource_conflict`.
 */
export const verifyDomain = async (
  context: CommandContext,
  origin: Origin,
  { domainId, ...condition }: Condition & { readonly domainId: string },
): Promise<CheckedDomain> => {
  const known = await load(context.store, sendingDomain, sendingDomainStream(domainId));
  requireOwnDomain(known.state, origin.organizationId);
  // Before the name is taken: a refused change leaves nothing behind.
  requireRevision(condition, known);
  return context.capturing
    ? capture(context, origin, known, condition)
    : checkDomain(context, origin, { known, isAsked: true, ...condition });
};
