import { load } from '../../commands/execute.ts';
import { apiKey } from '../../domain/api-key/api-key.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { keyedDigest } from '../../domain/kernel/digest.ts';
import { apiKeyStream, sendingDomainStream, templateStream } from '../../domain/kernel/streams.ts';
import { sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { template } from '../../domain/template/template.ts';
import { mapConcurrently } from '../../lib/async/async.ts';
import { STATS_OTHERS, type StatsDimension } from '../../projections/stats/metrics.ts';
import type { PeriodStats, QueryStats, Stats } from '../../projections/stats/queries.ts';
import { maskText, seesContents } from '../auth/permissions.ts';
import type { HttpDependencies } from '../dependencies.ts';

type Context = Pick<HttpDependencies['context'], 'store' | 'system'>;

/** Finds the name of a resource, also of a deleted one; null: unknown. */
type NameReader = (context: Context, id: string) => Promise<string | null>;

/** Dimensions whose values are ids. */
const READERS: Readonly<Partial<Record<StatsDimension, NameReader>>> = {
  domain: async ({ store }, id) => {
    const { state } = await load(store, sendingDomain, sendingDomainStream(id));
    return 'name' in state ? state.name : null;
  },
  api_key: async ({ store }, id) => {
    const { state } = await load(store, apiKey, apiKeyStream(id));
    return 'name' in state ? state.name : null;
  },
  template: async ({ store }, id) => {
    const { state } = await load(store, template, templateStream(id));
    return 'alias' in state ? state.alias : null;
  },
};

/** Higher: connections that other requests need. Lower: a table of many groups waits longer. */
const CONCURRENCY = 4;
const ID = /^[a-z]{3}_[a-z2-7]{26}$/;

export const hasNames = (dimension: StatsDimension): boolean => dimension in READERS;

/** Names by id of the resources by which statistics are grouped. */
export const namesIn = async (
  context: Context,
  { groups }: Pick<Stats, 'groups'>,
  groupBy: readonly StatsDimension[],
): Promise<ReadonlyMap<string, string>> => {
  const wanted = groupBy.flatMap((dimension, index) => {
    const read = READERS[dimension];
    const ids = new Set(groups.flatMap((row) => row.groups[index] ?? []));
    return read === undefined ? [] : [...ids].filter((id) => ID.test(id)).map((id) => ({ id, read }));
  });
  const found = await mapConcurrently(
    wanted,
    { system: context.system, concurrency: CONCURRENCY },
    async ({ id, read }) => {
      const name = await read(context, id);
      return name === null ? [] : [[id, name] as const];
    },
  );
  return new Map(found.flat());
};

/** Letters of a tag's digest that stand for the tag in the views of analysts (`projections/analytics.sql`). */
const TAG_ID_LETTERS = 16;

interface NamedStats {
  readonly stats: Stats;
  /** `tag_id` in the views of analysts, by the shown tag; without those that are shown alike. */
  readonly tagIds: ReadonlyMap<string, string>;
}

const idsByName = (tags: readonly string[], nameOf: (tag: string) => string): NamedStats['tagIds'] =>
  new Map(
    [...Map.groupBy(tags, nameOf)].flatMap(([name, [tag = '', ...alike]]) =>
      alike.length === 0 ? [[name, tag.slice(0, TAG_ID_LETTERS)]] : [],
    ),
  );

/**
 * The statistics with tags in clear, as the contents of a message tell them. Where these are erased or expired, as those of
 * a tag that is no longer used, it is shown by its digest.
 */
export const nameTags = async (
  { context, readModels }: HttpDependencies,
  by: QueryStats,
  { secret, caller }: { readonly secret: Uint8Array; readonly caller: Caller },
  stats: Stats,
): Promise<NamedStats> => {
  const at = by.groupBy.indexOf('tag');
  if (at === -1) return { stats, tagIds: new Map() };
  const all = [...stats.groups, ...(stats.previous?.groups ?? [])];
  const tags = [...new Set(all.flatMap(({ groups }) => groups[at] ?? []))].filter((tag) => tag !== STATS_OTHERS);
  const heads = await context.contents.heads(await readModels.stats.tagContents({ ...by, tags }));
  const inClear = [...heads.values()].flatMap((head) => (head.kind === 'message' ? head.tags : []));
  const named = new Map(
    inClear.map(({ name, value }) => {
      const tag = `${name}:${value}`;
      return [keyedDigest(secret, 'tag', `${name}\0${value}`), seesContents(caller) ? tag : maskText(tag)] as const;
    }),
  );
  const nameOf = (tag: string): string =>
    named.get(tag) ?? (tag === STATS_OTHERS ? tag : `(expired ${tag.slice(0, 8)})`);
  const withName = <R extends { readonly groups: readonly string[] }>(row: R): R => ({
    ...row,
    groups: row.groups.with(at, nameOf(row.groups[at] ?? '')),
  });
  const shown = <P extends PeriodStats>(period: P): P => ({
    ...period,
    data: period.data.map(withName),
    groups: period.groups.map(withName),
  });
  const previous = stats.previous === undefined ? {} : { previous: shown(stats.previous) };
  return { stats: { ...shown(stats), ...previous }, tagIds: idsByName(tags, nameOf) };
};
