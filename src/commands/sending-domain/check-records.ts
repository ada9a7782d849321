import { type Resolver, ResolverUnavailable } from '../../domain/resolver.ts';
import {
  checkRecords as decide,
  dmarcState,
  domainRecords,
  domainRecordsStream,
  spfState,
} from '../../domain/sending-domain/domain-records.ts';
import type { RecordState } from '../../domain/sending-domain/events.ts';
import type { ExistingSendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/** No answer says nothing of the record. */
const orUnknown = (error: unknown): RecordState => {
  if (error instanceof ResolverUnavailable) return 'unknown';
  throw error;
};

const lookForSpf = async (resolver: Resolver, name: string): Promise<RecordState> =>
  spfState((await resolver.txt(name)).records);

/** The policy of the name itself, or of the nearest name above it that has one (RFC 7489 §6.6.3). */
const lookForDmarc = async (resolver: Resolver, name: string): Promise<RecordState> => {
  const state = dmarcState((await resolver.txt(`_dmarc.${name}`)).records);
  const above = name.slice(name.indexOf('.') + 1);
  return state === 'missing' && above.includes('.') ? lookForDmarc(resolver, above) : state;
};

/** Looks at the DNS records that decide whether mail of the domain is believed; notes what has changed. */
export const checkRecords = async (
  { resolver, store, system }: Pick<CommandContext, 'resolver' | 'store' | 'system'>,
  origin: Origin,
  { domainId, name }: ExistingSendingDomain,
): Promise<void> => {
  const [spf, dmarc] = await Promise.all([
    lookForSpf(resolver, name).catch(orUnknown),
    lookForDmarc(resolver, name).catch(orUnknown),
  ]);
  await execute(
    { store, system },
    {
      aggregate: domainRecords,
      stream: domainRecordsStream(domainId),
      context: eventContext({ ...origin, environment: null }, system.now().toISOString()),
      decide: (before) => decide(before, { domainId, spf, dkim: before.dkim, dmarc }),
    },
  );
};
