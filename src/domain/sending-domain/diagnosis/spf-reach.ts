import type { DnsAnswer } from '../../resolver.ts';
import { canBeAsked, LOOKUPS_MAX, type SpfInclude, type SpfRecord, spfRecordIn } from './spf-record.ts';

/** Answers for the names that an SPF record includes, by name; null: the DNS did not answer. */
export type IncludedAnswers = ReadonlyMap<string, DnsAnswer<string> | null>;

/** What an SPF record comes to with all that it includes. */
export interface SpfReach {
  /** More than `LOOKUPS_MAX`: the rest was not followed. */
  readonly lookups: number;
  /** Mail of at least one host passes. */
  readonly permits: boolean;
  /** Names whose mail passes by their own records. */
  readonly passing: ReadonlySet<string>;
  /** The first included name whose record receivers cannot use, which ends the check (RFC 7208 §5.2). */
  readonly broken: { readonly host: string; readonly problem: string } | null;
  /** The first name that nothing is known of: the DNS did not answer, or what it is depends on the mail. */
  readonly unknown: string | null;
}

type Usable = Extract<SpfRecord, { kind: 'record' }>;

type Found = { readonly kind: 'unknown' } | { readonly kind: 'broken'; readonly problem: string } | Usable;

const recordAt = (host: string, included: IncludedAnswers): Found => {
  if (host.includes('%')) return { kind: 'unknown' };
  if (!canBeAsked(host)) return { kind: 'broken', problem: 'is no name' };
  const answer = included.get(host) ?? null;
  if (answer === null) return { kind: 'unknown' };
  const record = spfRecordIn(answer.records);
  if (record.kind === 'none') return { kind: 'broken', problem: 'has no SPF record' };
  return record.kind === 'broken' ? { ...record, problem: `has an SPF record that ${record.problem}` } : record;
};

interface Walk extends SpfReach {
  readonly open: readonly SpfInclude[];
}

const withRecord = (walk: Walk, { lookups, permits, includes }: Usable, passes: boolean): Walk => ({
  ...walk,
  lookups: walk.lookups + lookups,
  permits: walk.permits || (permits && passes),
  open: [...walk.open, ...includes.map((each) => ({ ...each, passes: each.passes && passes }))],
});

const onwards = (walk: Walk, { host, passes }: SpfInclude, included: IncludedAnswers): Walk => {
  const found = recordAt(host, included);
  const here = passes ? { ...walk, passing: new Set([...walk.passing, host]) } : walk;
  switch (found.kind) {
    case 'unknown':
      return { ...here, unknown: here.unknown ?? host };
    case 'broken':
      return { ...here, broken: here.broken ?? { host, problem: found.problem } };
    case 'record':
      return withRecord(here, found, passes);
    default:
      return found satisfies never;
  }
};

/** Follows what it includes; records that include each other end where receivers end, since each costs a look-up. */
export const spfReach = (record: Usable, included: IncludedAnswers): SpfReach => {
  const start = { lookups: 0, permits: false, passing: new Set<string>(), broken: null, unknown: null, open: [] };
  let walk: Walk = withRecord(start, record, true);
  for (let [next] = walk.open; next !== undefined && walk.lookups <= LOOKUPS_MAX; [next] = walk.open) {
    walk = onwards({ ...walk, open: walk.open.slice(1) }, next, included);
  }
  return walk;
};

/** Names that a name's TXT records include in SPF, and that can be asked for. */
export const spfTargets = (texts: readonly string[]): readonly string[] => {
  const record = spfRecordIn(texts);
  return record.kind === 'record' ? record.includes.map(({ host }) => host).filter(canBeAsked) : [];
};
