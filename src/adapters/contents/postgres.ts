import { StringDecoder } from 'node:string_decoder';
import type { Pool } from 'pg';
import { type Contents, headOf, type StoredBody } from '../../domain/ports/contents.ts';
import {
  type Batcher,
  createBatcher,
  fulfilled,
  inTurns,
  type Pausing,
  REST_MS,
  StoreUnavailable,
} from '../../lib/async/async.ts';
import type { EncodedContents } from '../../lib/event-log/postgres.ts';
import { orUnavailable } from '../../lib/postgres/postgres.ts';
import { type ContentsCodec, PLAIN_CONTENTS } from './contents-codec.ts';

type Body = StoredBody;
type Head = ReturnType<typeof headOf>;

/** Ids in one query: heads of some kilobytes each. Larger costs memory, smaller costs round trips. */
const IDS_PER_QUERY = 100;
/** Bodies of one query, as JSON. A larger one is read alone. Parsing needs about as much memory again. */
const BYTES_PER_QUERY = 32_000_000;
/** Callers whose ids are queued; others get 503. At some thousand queries a second, the last one waits seconds. */
const WAITING_CALLERS_MAX = 10_000;

/** One insert commits while the next one collects rows: a second one in flight would only make them smaller. */
const PUTS_IN_FLIGHT_MAX = 1;
/** Bytes of one commit: some 50 ms of work for the server. With fewer, fewer callers share a commit. */
const BYTES_PER_PUT = 8_000_000;
/** Memory of queued writes; rejected callers get 503. */
const WAITING_BYTES_MAX = 128_000_000;

const PUT = {
  name: 'contents-put-with-words',
  text: `
    insert into vault.contents (id, organization_id, kind, message_id, head, body, size_bytes, subject_words)
    select id, organization_id, kind, nullif(message_id, ''), nullif(head, '')::json, body::json, octet_length(body),
      nullif(words, '')::bigint[]
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
      as c (id, organization_id, kind, message_id, head, body, words)
    on conflict (id) do nothing`,
};

/** A larger body is read in pieces: parsing the whole value in one turn would block the event loop too long. */
const LARGE_BYTES_MIN = 4_000_000;
/** Bytes decoded in one turn of the event loop: a millisecond. */
const PIECE_BYTES = 1_000_000;

/** In the requested order: bodies as long as they fit, only the size of large ones, and null for the rest. */
const GET = {
  name: 'contents-get-by-size',
  text: `
    select id, case when fits and own <= $3 then body end as found, fits and own > $3 as large
    from (
      select c.id, c.body, c.own, row_number() over asked = 1 or sum(c.own) over asked <= $2 as fits
      from unnest($1::uuid[]) with ordinality as a (id, place)
      join lateral (
        select *, coalesce(size_bytes, octet_length(body::text)) as own from vault.contents where id = a.id
      ) c on true
      window asked as (order by a.place rows unbounded preceding)
    ) sized`,
};

/**
 * In no particular order. The client decodes every value as UTF-8, but a piece may end within a character, so pieces
 * are base64.
 */
const GET_PIECES = {
  name: 'contents-get-pieces',
  text: `
    select a.place::int as place, n as number, encode(substring(c.bytes from n * $2 + 1 for $2), 'base64') as base64
    from unnest($1::uuid[]) with ordinality as a (id, place)
    cross join lateral (select convert_to(body::text, 'UTF8') as bytes from vault.contents where id = a.id offset 0) c
    cross join lateral generate_series(0, (octet_length(c.bytes) - 1) / $2::int) n`,
};

interface Piece {
  readonly place: number;
  readonly number: number;
  readonly base64: string;
}

const textOf = function* (pieces: readonly Piece[]): Pausing<string> {
  const decoder = new StringDecoder('utf8');
  const texts: string[] = [];
  for (const { base64 } of pieces.toSorted((a, b) => a.number - b.number)) {
    if (texts.length > 0) yield;
    texts.push(decoder.write(Buffer.from(base64, 'base64')));
  }
  return texts.join('');
};

/**
 * A message without a head needs its body instead, and a larger one shares a query with few others. A body of
 * `OWN_HEAD_CHARACTERS_MAX` characters can have this size.
 */
const OWN_HEAD_BYTES_MAX = 20_000;

/** Heads, or bodies that serve as their own head (`isWhole`). Null for a larger row written before heads existed. */
const HEADS = {
  name: 'contents-heads-or-small-bodies',
  text: `
    select id, head is null as "isWhole",
      case
        when head is not null then head
        when kind not in ('message', 'inbound') or coalesce(size_bytes, octet_length(body::text)) <= $2 then body
      end as found
    from vault.contents where id = any ($1::uuid[])`,
};

/** Rows by id. Null: the row exists, but this query did not return its value. */
type RowsById = ReadonlyMap<string, Row | null>;
/** A row as stored. The caller that asked decodes it, so that one corrupt row does not fail other callers. */
interface Row {
  readonly id: string;
  /** The value is a body, although a head was requested. */
  readonly isWhole?: boolean;
  readonly found: unknown;
  /** Its JSON must be read in pieces, or was read that way. */
  readonly large?: boolean;
  readonly json?: string;
}

const bytesOfAll = (rows: readonly EncodedContents[]): number =>
  rows.reduce((sum, { head, body }) => sum + head.length + body.length, 0);

/** Admits as many callers as fit into one query. The first always fits. */
const admission = (): ((ids: readonly string[]) => boolean) => {
  let size = 0;
  return (ids) => {
    const isFirst = size === 0;
    size += ids.length;
    return isFirst || size <= IDS_PER_QUERY;
  };
};

const pick = (found: RowsById, ids: readonly string[]): RowsById =>
  new Map(
    ids.flatMap((id) => {
      const one = found.get(id);
      return one === undefined ? [] : [[id, one]];
    }),
  );

type ContentsBatcher = Batcher<readonly string[], RowsById>;

const createShared = (query: (ids: readonly string[]) => Promise<readonly Row[]>): ContentsBatcher =>
  createBatcher({
    name: "the vault's contents",
    inFlightMax: 1,
    restMs: REST_MS,
    waitingMax: WAITING_CALLERS_MAX,
    admission,
    run: async (callers) => {
      const rows = await orUnavailable(query([...new Set(callers.flat())]));
      const found: RowsById = new Map(
        rows.map((row) => [row.id, row.found === null && row.json === undefined ? null : row]),
      );
      return fulfilled(callers.map((ids) => pick(found, ids)));
    },
  });

/** Passes on each returned row, one query's worth of ids at a time. @returns ids of the rest. */
const ask = async (
  shared: ContentsBatcher,
  ids: readonly string[],
  take: (row: Row) => Promise<void>,
): Promise<readonly string[]> => {
  const untold: string[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_QUERY) {
    for (const [id, one] of await shared.add(ids.slice(from, from + IDS_PER_QUERY))) {
      if (one === null) untold.push(id);
      else await take(one);
    }
  }
  return untold;
};

export interface PostgresContentsOptions {
  readonly pool: Pool;
  /** Absent: no encryption. */
  readonly codec?: ContentsCodec;
  /** Nothing is stored under these ids, neither contents nor a record of their expiry. */
  onMissing?(ids: readonly string[]): void;
}

/** Contents in PostgreSQL. While one query runs, callers that arrive in the meantime are collected for the next one. */
export const createPostgresContents = (options: PostgresContentsOptions): Contents => {
  const { pool, codec = PLAIN_CONTENTS, onMissing } = options;
  const readLarge = async (rows: readonly Row[]): Promise<readonly Row[]> => {
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const { rows: pieces } = await pool.query<Piece>({ ...GET_PIECES, values: [ids, PIECE_BYTES] });
    const found = Map.groupBy(pieces, ({ place }) => place - 1);
    const read: Row[] = [];
    for (const [place, own] of found) {
      const row = rows[place];
      if (row !== undefined) read.push({ ...row, json: await inTurns(textOf(own)) });
    }
    return read;
  };

  const bodies = createShared(async (ids) => {
    const values = [ids, BYTES_PER_QUERY, LARGE_BYTES_MIN];
    const { rows } = await pool.query<Row>({ ...GET, values });
    const large = rows.filter((row) => row.large === true);
    return [...rows.filter((row) => row.large !== true), ...(await readLarge(large))];
  });
  const decodeBody = ({ id, found, json }: Row): ReturnType<ContentsCodec['decodeBody']> =>
    json === undefined ? codec.decodeBody(id, found) : codec.decodeLargeBody(id, json);
  const heads = createShared(async (ids) => (await pool.query({ ...HEADS, values: [ids, OWN_HEAD_BYTES_MAX] })).rows);

  /** Every query returns at least one row, so this ends. */
  const takeBodies = async (ids: readonly string[], take: (row: Row) => Promise<void>): Promise<void> => {
    for (let left = ids; left.length > 0; ) left = await ask(bodies, left, take);
  };

  const insert = async (rows: readonly EncodedContents[]): Promise<void> => {
    const names = ['id', 'organizationId', 'kind', 'messageId', 'head', 'body', 'words'] as const;
    const values = names.map((name) => rows.map((row) => row[name]));
    await orUnavailable(pool.query({ ...PUT, values }));
  };

  /** Inserts the contents of many callers in one commit. If one of them is at fault, each is inserted separately. */
  const puts = createBatcher<readonly EncodedContents[], void>({
    name: "the vault's contents",
    inFlightMax: PUTS_IN_FLIGHT_MAX,
    restMs: REST_MS,
    waitingMax: WAITING_CALLERS_MAX,
    waitingBytesMax: WAITING_BYTES_MAX,
    bytesOf: bytesOfAll,
    ownerOf: ([first]) => first?.organizationId ?? '',
    admission: () => {
      let bytes = 0;
      return (rows) => {
        const isFirst = bytes === 0;
        bytes += bytesOfAll(rows);
        return isFirst || bytes <= BYTES_PER_PUT;
      };
    },
    run: async (callers) => {
      try {
        await insert(callers.flat());
        return fulfilled(callers.map(() => undefined));
      } catch (reason) {
        if (callers.length === 1 || reason instanceof StoreUnavailable) throw reason;
        return Promise.allSettled(callers.map(insert));
      }
    },
  });

  const complete = <Found>(ids: readonly string[], found: ReadonlyMap<string, Found>): ReadonlyMap<string, Found> => {
    const missing = found.size < ids.length ? [...new Set(ids)].filter((id) => !found.has(id)) : [];
    if (missing.length > 0) onMissing?.(missing);
    return found;
  };

  return {
    put: async (contents) => {
      if (contents.length === 0) return;
      const rows: EncodedContents[] = [];
      for (const one of contents) rows.push(await codec.encode(one));
      await puts.add(rows);
    },

    get: async (ids) => {
      const found = new Map<string, Body>();
      await takeBodies(ids, async (row) => {
        found.set(row.id, await decodeBody(row));
      });
      return complete(ids, found);
    },

    heads: async (ids) => {
      const found = new Map<string, Head>();
      const withoutHead = await ask(heads, ids, async (row) => {
        const { id, isWhole = false } = row;
        found.set(id, isWhole ? headOf(await decodeBody(row)) : await codec.decodeHead(id, row.found));
      });
      await takeBodies(withoutHead, async (row) => {
        found.set(row.id, headOf(await decodeBody(row)));
      });
      return complete(ids, found);
    },
  };
};
