import { load } from '../../commands/execute.ts';
import { apiKey } from '../../domain/api-key/api-key.ts';
import { apiKeyStream, sendingDomainStream, templateStream } from '../../domain/kernel/streams.ts';
import { sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { template } from '../../domain/template/template.ts';
import { mapConcurrently } from '../../lib/async/async.ts';
import type { StatsDimension } from '../../projections/stats/metrics.ts';
import type { Stats } from '../../projections/stats/queries.ts';
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
