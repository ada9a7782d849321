import { DomainError } from '../../domain/kernel/errors.ts';
import type { EventContext, EventStore } from '../../domain/kernel/event-store.ts';
import type { SendingDomainEvent } from '../../domain/kernel/events.ts';
import { domainNameStream, domainRecordsStream, sendingDomainStream } from '../../domain/kernel/streams.ts';
import { diagnose } from '../../domain/sending-domain/diagnose.ts';
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
import type { SeenRecord, VerificationMethod } from '../../domain/sending-domain/events.ts';
import {
  type RecordToPublish,
  recordsToPublish,
  type ServiceHosts,
} from '../../domain/sending-domain/records-to-publish.ts';
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
import {
  type DoubledHost,
  type IncludedAnswers,
  LOOKUPS_MAX,
  type Sighting,
  spfTargets,
} from '../../domain/sending-domain/spf.ts';
import { type DnsAnswer, type Resolver, ResolverUnavailable } from '../../lib/smtp/smtp.ts';
import {
  type CommandContext,
  type Condition,
  eventContext,
  execute,
  executeOnce,
  internalOrigin,
  type LoadedStream,
  load,
  type Origin,
  retryConflicts,
} from '../execute.ts';

/** Checks the DNS records of a sending domain; of domains of one name that verify it, one holds the name. */

interface NameHolder {
  readonly holder: LoadedStream<DomainName>;
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
const leaveName = async (context: Tools, origin: Origin, { name, domainId }: NamedDomain): Promise<void> => {
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

interface NoteRecords {
  /** The domain after the check took effect. */
  readonly domain: ExistingSendingDomain;
  readonly records: readonly SeenRecord[];
  readonly isAsked: boolean;
}

/** Records the state of a domain's DNS records, if it changed. */
const noteRecords = async (
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

type CheckContext = Pick<
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

interface CheckDomain extends Condition {
  readonly known: LoadedStream<SendingDomain>;
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

/** Looks up the names that an SPF record includes, recursively, up to the number that receivers look up. */
const lookAtIncluded = async (
  ask: (host: string) => Promise<Answer>,
  texts: readonly string[],
): Promise<IncludedAnswers> => {
  const included = new Map<string, Answer>();
  let open = spfTargets(texts);
  while (open.length > 0) {
    const hosts = [...new Set(open)].filter((host) => !included.has(host)).slice(0, LOOKUPS_MAX - included.size);
    const answers = await Promise.all(hosts.map(async (host) => ({ host, answer: await ask(host) })));
    for (const { host, answer } of answers) included.set(host, answer);
    open = answers.flatMap(({ answer }) => spfTargets(answer?.records ?? []));
  }
  return included;
};

type Answer = DnsAnswer<string> | null;

/** Parent names that are queried for a policy: the limit of a DMARC tree walk. Registered names are not deeper. */
const ABOVE_MAX = 8;

/** A label that is never published: a server that answers for it has a wildcard record. */
const NOBODY = '_outbox-nobody';

/** Without an answer nothing is known. */
const orNull = (error: unknown): null => {
  if (error instanceof ResolverUnavailable) return null;
  throw error;
};

/** Bypasses the cache: a corrected record is seen at once. */
const FRESH = { fresh: true } as const;

const ask = (resolver: Resolver, host: string): Promise<Answer> => resolver.txt(host, FRESH).catch(orNull);

/** Follows the CNAME with an MX query. The records of its target do not matter. */
const askAlias = async (resolver: Resolver, host: string): Promise<Answer> => {
  const answer = await resolver.mx(host, FRESH).catch(orNull);
  return answer === null ? null : { ...answer, records: [] };
};

/** MX records as `<preference> <host>`. */
const askMx = async (resolver: Resolver, host: string): Promise<Answer> => {
  const answer = await resolver.mx(host, FRESH).catch(orNull);
  if (answer === null) return null;
  return { ...answer, records: answer.records.map(({ preference, exchange }) => `${preference} ${exchange || '.'}`) };
};

/** The name and those above it, but for the last label. */
const zones = (name: string): readonly string[] => {
  const labels = name.split('.');
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'));
};

/** Suffixes that a DNS provider's form may append: the name itself, or its zone, which is one of the shortest. */
const appended = (name: string): readonly string[] => {
  const all = zones(name);
  return [...new Set([...all.slice(0, 1), ...all.slice(-2)])];
};

interface DomainLookup {
  readonly resolver: Resolver;
  readonly domain: Sighting['domain'];
}

const lookWhereDoubled = async (
  { resolver, domain }: DomainLookup,
  record: RecordToPublish,
  plain: Sighting,
): Promise<DoubledHost | null> => {
  const found = await Promise.all(
    appended(domain.name).map(async (zone) => {
      const host = `${record.host}.${zone}`;
      const answer = await ask(resolver, host);
      const isIt = answer !== null && diagnose(record, { ...plain, answer }).state === 'valid';
      return isIt ? [{ host, texts: answer.records }] : [];
    }),
  );
  return found.flat()[0] ?? null;
};

const lookForWildcard = async (
  { resolver }: DomainLookup,
  host: string,
  answer: DnsAnswer<string>,
): Promise<boolean> => {
  const elsewhere = await ask(resolver, `${NOBODY}${host.slice(host.indexOf('.'))}`);
  return elsewhere?.records.some((text) => answer.records.includes(text)) === true;
};

/** One that is at a host of its own; where it is not as it should be, what else may explain that. */
const lookAtOwnHost = async (looking: DomainLookup, record: RecordToPublish): Promise<SeenRecord> => {
  const answer = await ask(looking.resolver, record.host);
  const plain = { host: record.host, answer, doubled: null, isWildcard: false, domain: looking.domain };
  const seen = diagnose(record, plain);
  if (seen.state === 'valid' || answer === null) return seen;
  return answer.records.length === 0
    ? diagnose(record, { ...plain, doubled: await lookWhereDoubled(looking, record, plain) })
    : diagnose(record, { ...plain, isWildcard: await lookForWildcard(looking, record.host, answer) });
};

const lookAtSpf = async (
  { resolver, domain }: DomainLookup,
  record: RecordToPublish,
  answer: Answer,
): Promise<SeenRecord> => {
  const included = await lookAtIncluded((host) => ask(resolver, host), answer?.records ?? []);
  return diagnose(record, { host: record.host, answer, doubled: null, isWildcard: false, domain, included });
};

/** The policy of the name itself, or of the nearest name above it that has one (RFC 7489 §6.6.3). */
const lookAtDmarc = async ({ resolver, domain }: DomainLookup, record: RecordToPublish): Promise<SeenRecord> => {
  let first: SeenRecord | undefined;
  for (const zone of zones(domain.name).slice(0, ABOVE_MAX)) {
    const host = `_dmarc.${zone}`;
    const sighting = { host, answer: await ask(resolver, host), doubled: null, isWildcard: false, domain };
    const seen = diagnose(record, sighting);
    if (seen.state !== 'missing') return seen;
    first ??= seen;
  }
  return first ?? { kind: record.kind, host: record.host, state: 'unknown', problem: null, seen: [] };
};

/** The DNS answers for each of a domain's records, bypassing caches. */
export const lookAtRecords = async (
  resolver: Resolver,
  name: string,
  records: readonly RecordToPublish[],
): Promise<readonly SeenRecord[]> => {
  const apex = await ask(resolver, name);
  const domain = { name, exists: apex?.exists ?? true };
  const looking = { resolver, domain };
  const plain = { doubled: null, isWildcard: false, domain };
  const look = async (record: RecordToPublish): Promise<SeenRecord> => {
    switch (record.kind) {
      case 'ownership':
      case 'dkim':
        return lookAtOwnHost(looking, record);
      case 'return_path':
      case 'tracking':
        return diagnose(record, { ...plain, host: record.host, answer: await askAlias(resolver, record.host) });
      case 'mx':
        return diagnose(record, { ...plain, host: record.host, answer: await askMx(resolver, record.host) });
      case 'spf':
        return lookAtSpf(looking, record, apex);
      case 'dmarc':
        return lookAtDmarc(looking, record);
      default:
        return record.kind satisfies never;
    }
  };
  return Promise.all(records.map(look));
};
