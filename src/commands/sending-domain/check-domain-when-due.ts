import { DomainError } from '../../domain/domain-error.ts';
import { sendingDomain, sendingDomainStream } from '../../domain/sending-domain/sending-domain.ts';
import type { Origin } from '../context.ts';
import { load } from '../execute.ts';
import { type CheckContext, checkDomain } from './check-domain.ts';

/** What another look later may find otherwise: the name is another’s for now, others write there at this moment, or it was just deleted. */
const LATER: readonly string[] = ['domain_already_exists', 'resource_conflict', 'not_found'];

/** Looks at a domain's records because it is time to. One that is gone is left alone. */
export const checkDomainWhenDue = async (context: CheckContext, domainId: string): Promise<void> => {
  const known = await load(context.store, sendingDomain, sendingDomainStream(domainId));
  if (known.state.status !== 'registered') return;
  const { organizationId } = known.state;
  const id = context.system.uuid();
  const origin: Origin = {
    ...{ actor: 'worker:check-domains', organizationId, environment: null, requestId: null },
    ...{ correlationId: id, causationId: id },
  };
  try {
    await checkDomain(context, origin, { known, isAsked: false });
  } catch (error) {
    if (!(error instanceof DomainError && LATER.includes(error.code))) throw error;
  }
};
