import type { SendingDomainEvent } from '../../domain/events.ts';
import type { EventContext } from '../../domain/ports/event-store.ts';
import type { DomainRecords } from '../../domain/sending-domain/domain-records.ts';
import { requireOwnDomain } from '../../domain/sending-domain/own-domain.ts';
import { recordsToPublish } from '../../domain/sending-domain/records-to-publish.ts';
import {
  type ExistingSendingDomain,
  lifeOf,
  type SendingDomain,
  sendingDomain,
  sendingDomainStream,
} from '../../domain/sending-domain/sending-domain.ts';
import { settleDomain } from '../../domain/sending-domain/settle-domain.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute, type Loaded } from '../execute.ts';
import { lookAtRecords } from './look-at-records.ts';
import { noteRecords } from './note-records.ts';
import { leaveName, takeName } from './take-name.ts';

export type CheckContext = Pick<
  CommandContext,
  'store' | 'system' | 'secrets' | 'dkimKeys' | 'resolver' | 'bounceDomain'
>;

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
  /** Somebody asked for it. */
  readonly isAsked: boolean;
}

/**
 * Looks at the domain's records in the DNS, notes what is new, and draws the consequences. The name is taken before the
 * domain counts as verified, so that two who prove it at once cannot both have it.
 * @throws {DomainError} `not_found`, `other_organization`, `domain_already_exists`, `precondition_failed`, `resource_conflict`.
 */
export const checkDomain = async (
  context: CheckContext,
  origin: Origin,
  { known, isAsked, ...condition }: CheckDomain,
): Promise<CheckedDomain> => {
  const domain = requireOwnDomain(known.state, origin.organizationId);
  const { domainId, name, token } = domain;
  const wanted = recordsToPublish(domain, { bounceDomain: context.bounceDomain ?? null });
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
    ...{ aggregate: sendingDomain, stream: sendingDomainStream(domainId), context: metadata, known },
    decide: (before) => settleDomain(requireOwnDomain(before, origin.organizationId), look),
    ...condition,
  });
  const now = requireOwnDomain(state, origin.organizationId);
  if (lifeOf(now, false) === 'failed') await leaveName(context, origin, now);
  return { domain: now, revision: Number(revision), records };
};
