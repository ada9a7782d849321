import type { Pool } from 'pg';
import type { Contents, MessageContents } from '../../domain/contents.ts';
import { orUnavailable } from '../postgres/faults.ts';

type Body = MessageContents['body'];
type Bodies = ReadonlyMap<string, Body>;

/** Of one query, which holds this many bodies at once: larger costs memory, smaller costs round trips. */
const IDS_PER_QUERY = 100;

const PUT = {
  name: 'contents-put',
  text: `
    insert into vault.contents (id, organization_id, kind, body)
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::json[])
    on conflict (id) do nothing`,
};

const GET = {
  name: 'contents-get',
  text: 'select id, body from vault.contents where id = any ($1::uuid[])',
};

interface Waiting {
  readonly ids: readonly string[];
  readonly resolve: (bodies: Bodies) => void;
  readonly reject: (error: unknown) => void;
}

/** Callers that fit into one query, the first always; the rest wait for the next. */
const takeGroup = (waiting: Waiting[]): readonly Waiting[] => {
  let size = 0;
  const end = waiting.findIndex(({ ids }, index) => {
    size += ids.length;
    return index > 0 && size > IDS_PER_QUERY;
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
};

/** Contents in PostgreSQL. While one query runs, the next gathers all callers that come in the meantime. */
export const createPostgresContents = ({ pool }: { readonly pool: Pool }): Contents => {
  const waiting: Waiting[] = [];
  let running = false;

  const query = async (ids: readonly string[]): Promise<Bodies> => {
    const { rows } = await orUnavailable(pool.query<{ id: string; body: Body }>({ ...GET, values: [ids] }));
    return new Map(rows.map(({ id, body }) => [id, body]));
  };

  const answer = async (group: readonly Waiting[]): Promise<void> => {
    try {
      const bodies = await query([...new Set(group.flatMap(({ ids }) => ids))]);
      for (const { ids, resolve } of group) resolve(pick(bodies, ids));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };

  const drain = async (): Promise<void> => {
    running = true;
    while (waiting.length > 0) await answer(takeGroup(waiting));
    running = false;
  };

  return {
    put: async (contents) => {
      if (contents.length === 0) return;
      await orUnavailable(
        pool.query({
          ...PUT,
          values: [
            contents.map(({ id }) => id),
            contents.map(({ organizationId }) => organizationId),
            contents.map(({ body }) => body.kind),
            contents.map(({ body }) => JSON.stringify(body)),
          ],
        }),
      );
    },

    get: (ids) => {
      if (ids.length === 0) return Promise.resolve(new Map());
      return new Promise((resolve, reject) => {
        waiting.push({ ids, resolve, reject });
        // A turn later, so that callers of the same moment travel together from the first query on.
        if (!running) {
          running = true;
          setImmediate(() => void drain());
        }
      });
    },
  };
};

const pick = (bodies: Bodies, ids: readonly string[]): Bodies => {
  const picked = new Map<string, Body>();
  for (const id of ids) {
    const body = bodies.get(id);
    if (body !== undefined) picked.set(id, body);
  }
  return picked;
};
