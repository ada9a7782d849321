import type { ExistingSendingDomain } from '../../../domain/sending-domain/sending-domain.ts';
import type { RouteContext } from '../../endpoint.ts';
import { type DomainShape, showDomain } from '../../schemas/domain.ts';

/** A domain as clients see it, by what the register knows of its records. */
export const presentDomain = (
  { deps: { context }, auth }: Pick<RouteContext, 'deps' | 'auth'>,
  domain: ExistingSendingDomain,
): DomainShape =>
  showDomain(domain, {
    capturing: context.capturing,
    bounceDomain: context.bounceDomain ?? null,
    records: auth.keyCache.domainRecordsOf(domain.domainId),
    now: context.system.now().toISOString(),
  });
