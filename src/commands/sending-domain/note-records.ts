import { decidingPair, dkimHost, rsaOf } from '../../domain/sending-domain/dkim.ts';
import {
  checkRecords,
  type DomainRecords,
  domainRecords,
  domainRecordsStream,
} from '../../domain/sending-domain/domain-records.ts';
import type { RecordSeen } from '../../domain/sending-domain/events.ts';
import type { ExistingSendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/** Host of the key record that mail of the domain stands or falls with. */
const decidingHost = ({ name, dkim }: ExistingSendingDomain): string | null => {
  const pair = decidingPair(dkim);
  const rsa = pair === null ? undefined : rsaOf(pair);
  return rsa === undefined ? null : dkimHost(name, rsa.selector);
};

export interface NoteRecords {
  /** After what was seen has had its effect. */
  readonly domain: ExistingSendingDomain;
  readonly records: readonly RecordSeen[];
  readonly isAsked: boolean;
}

/** Notes what the DNS says of a domain, where that is news. */
export const noteRecords = async (
  { store, system }: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { domain, records, isAsked }: NoteRecords,
): Promise<DomainRecords> => {
  const { domainId } = domain;
  const now = system.now().toISOString();
  const host = decidingHost(domain);
  const { state } = await execute(
    { store, system },
    {
      aggregate: domainRecords,
      stream: domainRecordsStream(domainId),
      context: eventContext({ ...origin, environment: null }, now),
      decide: (before) => checkRecords(before, { domainId, records, dkimHost: host, isAsked, now }),
    },
  );
  return state;
};
