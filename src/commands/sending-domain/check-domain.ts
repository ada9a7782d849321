import { DomainError } from '../../domain/kernel/errors.ts';
import type { EventContext, EventStore } from '../../domain/kernel/event-store.ts';
import type { SendingDomainEvent } from '../../domain/kernel/events.ts';
import { domainNameStream, domainRecordsStream, sendingDomainStream } from '../../domain/kernel/streams.ts';
import {
  checkRecords,
  type DomainName,
  type DomainRecords,
  takeName as decideTakeName,
  domainName,
  domainRecords,
  releaseName,
  settleDomain,
} from '../../domain/sending-domain/domain-records.ts';
import type { RecordSeen, VerificationMethod } from '../../domain/sending-domain/events.ts';
import { recordsToPublish, type ServiceHosts } from '../../domain/sending-domain/records-to-publish.ts';
import {
  decidingPair,
  dkimHost,
  type ExistingSendingDomain,
  lifeOf,
  requireOwnDomain,
  rsaOf,
  type SendingDomain,
  sendingDomain,
} from '../../domain/sending-domain/sending-domain.ts';
import { type CommandContext, eventContext, internalOrigin, type Origin } from '../context.ts';
import { type Condition, execute, executeOnce, type Loaded, load, retryConflicts } from '../execute.ts';
import { lookAtRecords } from './look-at-records.ts';

/** Checks the DNS records of a sending domain; of domains of one name that verify it, one holds the name. */

export interface NameHolder {
  readonly holder: Loaded<DomainName>;
  /** The domain that last verified the name and has since been deleted or failed. */
  readonly formerHolder: string | null;
}

/** The holder of a name: the last domain that verified it. A failed domain has released it. */
export const nameHolder = async (store: EventStore, name: string): Promise<NameHolder> => {
  const holder = await load(store, domainName, domainNameStream(name));
  if (holder.state.status === 'free') return { holder, formerHolder: null };
  const { domainId } = holder.state;
  const { state } = await load(store, sendingDomain, sendingDomainStream(domainId));
  const holds = state.status === 'registered' && state.verification !== null;
  return { holder, formerHolder: holds ? null : domainId };
};

type Tools = Pick<CommandContext, 'store' | 'system'>;
type NamedDomain = Pick<ExistingSendingDomain, 'name' | 'domainId'>;

/** Takes the name for a domain that has verified it. @throws {DomainError} `domain_already_exists`, `resource_conflict`. */
export const takeName = async (
  context: Tools,
  origin: Origin,
  { name, domainId, method }: NamedDomain & { readonly method: VerificationMethod },
): Promise<void> => {
  const metadata = eventContext({ ...origin, environment: null }, context.system.now().toISOString());
  await retryConflicts(async () => {
    const { holder, formerHolder } = await nameHolder(context.store, name);
    // A name that was never verified has no former holder, so a conflict needs no new facts.
    const append = holder.revision === 'no-stream' ? execute : executeOnce;
    return append(context, {
      aggregate: domainName,
      stream: domainNameStream(name),
      context: metadata,
      known: holder,
      decide: (state) => decideTakeName(state, { name, domainId, method, formerHolder }),
    });
  });
};

/** Releases the name of a domain that failed, if it still holds it. */
export const leaveName = async (context: Tools, origin: Origin, { name, domainId }: NamedDomain): Promise<void> => {
  await execute(context, {
    aggregate: domainName,
    stream: domainNameStream(name),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (state) => releaseName(state, { name, domainId }),
  });
};

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

/** Records the state of a domain's DNS records, if it changed. */
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

/** Hosts of the service that records of domains point to. */
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
 * Looks up the domain's DNS records, records changes, and verifies, degrades or fails the domain. The name is reserved
 * before the domain is verified, so that only one of two concurrent verifications succeeds.
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
