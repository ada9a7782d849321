import { DomainError } from '../../domain/domain-error.ts';
import type { SendingDomainEvent } from '../../domain/events.ts';
import type { EventContext } from '../../domain/ports/event-store.ts';
import { decidingPair, dkimHost, rsaOf } from '../../domain/sending-domain/dkim.ts';
import { checkRecords, type DomainRecords, domainRecords } from '../../domain/sending-domain/domain-records.ts';
import type { RecordSeen } from '../../domain/sending-domain/events.ts';
import { recordsToPublish, type ServiceHosts } from '../../domain/sending-domain/records-to-publish.ts';
import {
  type ExistingSendingDomain,
  lifeOf,
  requireOwnDomain,
  type SendingDomain,
  sendingDomain,
} from '../../domain/sending-domain/sending-domain.ts';
import { settleDomain } from '../../domain/sending-domain/settle-domain.ts';
import { domainRecordsStream, sendingDomainStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, internalOrigin, type Origin } from '../context.ts';
import { type Condition, execute, type Loaded, load } from '../execute.ts';
import { leaveName, takeName } from './domain-name.ts';
import { lookAtRecords } from './look-at-records.ts';

/** Host of the deciding DKIM key's record. */
const decidingHost = ({ name, dkim }: ExistingSendingDomain): string | null => {
  const pair = decidingPair(dkim);
  const rsa = pair === null ? undefined : rsaOf(pair);
  return rsa === undefined ? null : dkimHost(name, rsa.selector);
};

export interface NoteRecords {
  /** The domain after the check took effect. */
  readonly domain: ExistingSendingDomain;
  readonly records: readonly RecordSeen[];
  readonly isAsked: boolean;
}

/** Records what the DNS says about a domain, if it changed. */
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

export type CheckContext = Pick<
  CommandContext,
  'store' | 'system' | 'secrets' | 'dkimKeys' | 'resolver' | 'bounceDomain' | 'trackingTarget'
>;

/** What the records of domains depend on. */
export const serviceHosts = ({
  bounceDomain = null,
  trackingTarget = null,
}: Pick<CommandContext, 'bounceDomain' | 'trackingTarget'>): ServiceHosts => ({ bounceDomain, trackingTarget });

export interface DomainAtRevision {
  readonly domain: ExistingSendingDomain;
  readonly revision: number;
}

export interface CheckedDomain extends DomainAtRevision {
  readonly records: DomainRecords;
}

const metadataOf = ({ system }: Pick<CommandContext, 'system'>, origin: Origin): EventContext =>
  eventContext({ ...origin, environment: null }, system.now().toISOString());

const after = (
  domain: ExistingSendingDomain,
  events: readonly SendingDomainEvent[],
  context: EventContext,
): ExistingSendingDomain => {
  const state = events.reduce<SendingDomain>((before, event) => sendingDomain.evolve(before, event, context), domain);
  return state.status === 'absent' ? domain : state;
};

export interface CheckDomain extends Condition {
  readonly known: Loaded<SendingDomain>;
  /** A request asked for the check. */
  readonly isAsked: boolean;
}

/**
 * Looks up the domain's DNS records, records changes, and verifies, degrades or fails the domain. The name is taken before
 * the domain counts as verified, so that of two that verify it at once one gets it.
 * @throws {DomainError} `not_found`, `other_organization`, `domain_already_exists`, `precondition_failed`, `resource_conflict`.
 */
export const checkDomain = async (
  context: CheckContext,
  origin: Origin,
  { known, isAsked, ...condition }: CheckDomain,
): Promise<CheckedDomain> => {
  const domain = requireOwnDomain(known.state, origin.organizationId);
  const { domainId, name, token } = domain;
  const wanted = recordsToPublish(domain, serviceHosts(context));
  const seen = await lookAtRecords(context.resolver, name, wanted);
  const metadata = metadataOf(context, origin);
  const look = { records: seen, token, now: metadata.occurredAt };
  const events = settleDomain(domain, look);
  const settled = after(domain, events, metadata);
  const records = await noteRecords(context, origin, { domain: settled, records: seen, isAsked });
  if (events.some(({ type }) => type === 'DomainVerified')) {
    await takeName(context, origin, { name, domainId, method: 'dns' });
  }
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream: sendingDomainStream(domainId),
    context: metadata,
    known,
    decide: (before) => settleDomain(requireOwnDomain(before, origin.organizationId), look),
    ...condition,
  });
  const now = requireOwnDomain(state, origin.organizationId);
  if (lifeOf(now, false) === 'failed') await leaveName(context, origin, now);
  return { domain: now, revision: Number(revision), records };
};

/** Temporary: another organization holds the name, a write conflict, or the domain was just deleted. */
const LATER: readonly string[] = ['domain_already_exists', 'resource_conflict', 'not_found'];

/** The scheduled check of a domain. Does nothing for a deleted one. */
export const checkDomainWhenDue = async (context: CheckContext, domainId: string): Promise<void> => {
  const known = await load(context.store, sendingDomain, sendingDomainStream(domainId));
  if (known.state.status !== 'registered') return;
  const { organizationId } = known.state;
  const causeId = context.system.uuid();
  const origin = internalOrigin({ actor: 'worker:check-domains', organizationId, causeId });
  try {
    await checkDomain(context, origin, { known, isAsked: false });
  } catch (error) {
    if (!(error instanceof DomainError && LATER.includes(error.code))) throw error;
  }
};
