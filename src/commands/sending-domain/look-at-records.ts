import { diagnose } from '../../domain/sending-domain/diagnose.ts';
import type { RecordSeen } from '../../domain/sending-domain/events.ts';
import type { RecordToPublish } from '../../domain/sending-domain/records-to-publish.ts';
import {
  type Doubled,
  type IncludedAnswers,
  LOOKUPS_MAX,
  type Sighting,
  spfTargets,
} from '../../domain/sending-domain/spf.ts';
import { type DnsAnswer, type Resolver, ResolverUnavailable } from '../../lib/smtp/smtp.ts';

/** Looks up the names that an SPF record includes, recursively, up to the number that receivers look up. */
export const lookAtIncluded = async (
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
): Promise<Doubled | null> => {
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
const lookAtOwnHost = async (looking: DomainLookup, record: RecordToPublish): Promise<RecordSeen> => {
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
): Promise<RecordSeen> => {
  const included = await lookAtIncluded((host) => ask(resolver, host), answer?.records ?? []);
  return diagnose(record, { host: record.host, answer, doubled: null, isWildcard: false, domain, included });
};

/** The policy of the name itself, or of the nearest name above it that has one (RFC 7489 §6.6.3). */
const lookAtDmarc = async ({ resolver, domain }: DomainLookup, record: RecordToPublish): Promise<RecordSeen> => {
  let first: RecordSeen | undefined;
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
): Promise<readonly RecordSeen[]> => {
  const apex = await ask(resolver, name);
  const domain = { name, exists: apex?.exists ?? true };
  const looking = { resolver, domain };
  const plain = { doubled: null, isWildcard: false, domain };
  const look = async (record: RecordToPublish): Promise<RecordSeen> => {
    switch (record.kind) {
      case 'ownership':
      case 'dkim':
        return lookAtOwnHost(looking, record);
      case 'return_path':
      case 'tracking':
        return diagnose(record, { ...plain, host: record.host, answer: await askAlias(resolver, record.host) });
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
