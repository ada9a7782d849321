import { domainName, domainNameStream } from '../../domain/sending-domain/domain-name.ts';
import type { VerificationMethod } from '../../domain/sending-domain/events.ts';
import { requireOwnDomain } from '../../domain/sending-domain/own-domain.ts';
import {
  type ExistingSendingDomain,
  sendingDomain,
  sendingDomainStream,
  verificationRecord,
} from '../../domain/sending-domain/sending-domain.ts';
import { verifyDomain as decide, takeName } from '../../domain/sending-domain/verify-domain.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute, load, requireRevision } from '../execute.ts';
import { checkRecords } from './check-records.ts';
import { nameHolder } from './name-holder.ts';

export interface DomainAtRevision {
  readonly domain: ExistingSendingDomain;
  readonly revision: number;
}

const proofOf = async (
  { capturing, resolver }: CommandContext,
  domain: ExistingSendingDomain,
): Promise<VerificationMethod | null> => {
  if (capturing) return 'capture';
  const { host, value } = verificationRecord(domain);
  return (await resolver.txt(host)).records.includes(value) ? 'dns' : null;
};

/**
 * Looks for the domain's proof and its mail records now; without one the domain stays as it is. The name is taken before the domain counts
 * as verified, so that two who prove it at once cannot both have it.
 * @throws {Refusal} `not_found`, `other_organization`, `domain_already_exists`, `precondition_failed`.
 * @throws {ResolverUnavailable}
 */
export const verifyDomain = async (
  context: CommandContext,
  origin: Origin,
  { domainId, ...condition }: Condition & { readonly domainId: string },
): Promise<DomainAtRevision> => {
  const { store, system } = context;
  const stream = sendingDomainStream(domainId);
  const known = await load(store, sendingDomain, stream);
  const domain = requireOwnDomain(known.state, origin.organizationId);
  // Before the name is taken: a refused change leaves nothing behind.
  requireRevision(condition, known);
  if (!context.capturing) await checkRecords(context, origin, domain);
  const method = await proofOf(context, domain);
  if (method === null) return { domain, revision: Number(known.revision) };
  const metadata = eventContext({ ...origin, environment: null }, system.now().toISOString());
  const { holder, formerHolder } = await nameHolder(store, domain.name);
  await execute(context, {
    aggregate: domainName,
    stream: domainNameStream(domain.name),
    context: metadata,
    decide: (state) => takeName(state, { name: domain.name, domainId, method, formerHolder }),
    known: holder,
  });
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream,
    context: metadata,
    decide: (before) => decide(requireOwnDomain(before, origin.organizationId), method),
    known,
    ...condition,
  });
  return { domain: requireOwnDomain(state, origin.organizationId), revision: Number(revision) };
};
