import type { ExistingSendingDomain } from '../../../domain/sending-domain/sending-domain.ts';
import type { House } from '../../endpoint.ts';
import { type DomainShape, showDomain } from '../../schemas/domain.ts';

/** A domain as clients see it, by what the register knows of its records. */
export const presentDomain = (
  { deps: { context }, door }: Pick<House, 'deps' | 'door'>,
  domain: ExistingSendingDomain,
): DomainShape =>
  showDomain(domain, {
    capturing: context.capturing,
    bounceDomain: context.bounceDomain ?? null,
    records: door.directory.domainRecordsOf(domain.domainId),
    now: context.system.now().toISOString(),
  });
