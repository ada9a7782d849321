import type { Pool } from 'pg';
import { type Contents, headOf, type MessageContents } from '../../domain/contents.ts';
import { createGather, type Gather } from '../gather.ts';
import { orUnavailable } from '../postgres/faults.ts';
import { encodeContents } from './encode-contents.ts';

type Body = MessageContents['body'];
type Head = ReturnType<typeof headOf>;

/** Of one query: heads of some kilobytes each. Larger costs memory, smaller costs round trips. */
const IDS_PER_QUERY = 100;
/** Bodies of one query, as JSON; one that is larger comes alone. Parsing needs about as much again. */
const BYTES_PER_QUERY = 32_000_000;
/** What waits are ids; refused callers get 503. At some thousand queries a second the last one waits seconds. */
const WAITING_CALLERS_MAX = 10_000;

const PUT = {
  name: 'contents-put-with-head',
  text: `
    insert into vault.contents (id, organization_id, kind, head, body, size_bytes)
    select id, organization_id, kind, nullif(head, '')::json, body::json, octet_length(body)
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
      as c (id, organization_id, kind, head, body)
    on conflict (id) do nothing`,
};

/** In the order asked for: bodies as long as they fit, and null for those that do not. */
const GET = {
  name: 'contents-get-by-size',
  text: `
    select id, case when place = 1 or bytes <= $2 then body end as found
    from (
      select c.id, c.body, row_number() over asked as place,
        sum(coalesce(c.size_bytes, octet_length(c.body::text))) over asked as bytes
      from unnest($1::uuid[]) with ordinality as a (id, place)
      join vault.contents c on c.id = a.id
      window asked as (order by a.place rows unbounded preceding)
    ) sized`,
};

/** Null where the row is older than heads. */
const HEADS = {
  name: 'contents-heads',
  text: `
    select id, case when kind = 'message' then head else body end as found
    from vault.contents where id = any ($1::uuid[])`,
};

/** By id; null for what is there, but was not told. */
type Found<T> = ReadonlyMap<string, T | null>;
type Rows<T> = readonly { readonly id: string; readonly found: T | null }[];

/** As many callers as fit into one query, the first always. */
const admission = (): ((ids: readonly string[]) => boolean) => {
  let size = 0;
  return (ids) => {
    const isFirst = size === 0;
    size += ids.length;
    return isFirst || size <= IDS_PER_QUERY;
  };
};

const pick = <T>(found: Found<T>, ids: readonly string[]): Found<T> =>
  new Map(
    ids.flatMap((id) => {
      const one = found.get(id);
      return one === undefined ? [] : [[id, one]];
    }),
  );

type Shared<T> = Gather<readonly string[], Found<T>>;

const createShared = <T>(query: (ids: readonly string[]) => Promise<Rows<T>>): Shared<T> =>
  createGather({
    name: "the vault's contents",
    inFlightMax: 1,
    waitingMax: WAITING_CALLERS_MAX,
    waitingBytesMax: Number.POSITIVE_INFINITY,
    bytesOf: () => 0,
    admission,
    run: async (callers) => {
      const rows = await orUnavailable(query([...new Set(callers.flat())]));
      const found: Found<T> = new Map(rows.map((row) => [row.id, row.found]));
      return callers.map((ids) => ({ status: 'fulfilled', value: pick(found, ids) }));
    },
  });

/** Hands over what is told, a query's worth at a time. @returns ids of the rest. */
const ask = async <T>(
  shared: Shared<T>,
  ids: readonly string[],
  take: (id: string, one: T) => void,
): Promise<readonly string[]> => {
  const untold: string[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_QUERY) {
    for (const [id, one] of await shared.add(ids.slice(from, from + IDS_PER_QUERY))) {
      if (one === null) untold.push(id);
      else take(id, one);
    }
  }
  return untold;
};

/** Contents in PostgreSQL. While one query runs, the next gathers all callers that come in the meantime. */
export const createPostgresContents = ({ pool }: { readonly pool: Pool }): Contents => {
  const bodies = createShared<Body>(async (ids) => (await pool.query({ ...GET, values: [ids, BYTES_PER_QUERY] })).rows);
  const heads = createShared<Head>(async (ids) => (await pool.query({ ...HEADS, values: [ids] })).rows);

  /** Every query tells one at least, so this ends. */
  const takeBodies = async (ids: readonly string[], take: (id: string, body: Body) => void): Promise<void> => {
    for (let left = ids; left.length > 0; ) left = await ask(bodies, left, take);
  };

  return {
    put: async (contents) => {
      if (contents.length === 0) return;
      const rows = contents.map(encodeContents);
      const values = [
        rows.map(({ id }) => id),
        rows.map(({ organizationId }) => organizationId),
        rows.map(({ kind }) => kind),
        rows.map(({ head }) => head),
        rows.map(({ body }) => body),
      ];
      await orUnavailable(pool.query({ ...PUT, values }));
    },

    get: async (ids) => {
      const found = new Map<string, Body>();
      await takeBodies(ids, (id, body) => found.set(id, body));
      return found;
    },

    heads: async (ids) => {
      const found = new Map<string, Head>();
      const withoutHead = await ask(heads, ids, (id, head) => found.set(id, head));
      await takeBodies(withoutHead, (id, body) => found.set(id, headOf(body)));
      return found;
    },
  };
};
