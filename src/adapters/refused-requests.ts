import type { Pool } from 'pg';
import {
  REFUSED_REQUESTS_COUNTED_MAX,
  type RecordedRefusal,
  type RefusedRequest,
  type RefusedRequestCounts,
  type RefusedRequestFilter,
  type RefusedRequests,
} from '../domain/ports/requests.ts';
import { orUnavailable } from '../lib/postgres/postgres.ts';

const COLUMNS = [
  ['id', 'text'],
  ['organization_id', 'text'],
  ['environment', 'text'],
  ['domain_id', 'text'],
  ['principal_id', 'text'],
  ['at', 'timestamptz'],
  ['method', 'text'],
  ['route', 'text'],
  ['path', 'text'],
  ['status', 'smallint'],
  ['code', 'text'],
  ['message', 'text'],
  ['problems', 'json'],
  ['body', 'json'],
  ['client_address', 'text'],
  ['user_agent', 'text'],
  ['duration_ms', 'integer'],
  ['count', 'integer'],
  ['address_digests', 'text[]'],
] as const;
const NAMES = COLUMNS.map(([name]) => name).join();

/** For a stored request, only the count grows. Rows are ordered, so that two processes cannot deadlock. */
const RECORD = {
  name: 'refused-requests-record',
  text: `
    insert into vault.refused_requests as r (${NAMES})
    select ${NAMES} from json_to_recordset($1) as n (${COLUMNS.map((column) => column.join(' ')).join()})
    order by id
    on conflict (id) do update set count = r.count + excluded.count`,
};

const rowOf = (request: RecordedRefusal): object => ({
  id: request.id,
  organization_id: request.organizationId,
  environment: request.environment,
  domain_id: request.domainId,
  principal_id: request.principalId,
  at: request.at,
  method: request.method,
  route: request.route,
  path: request.path,
  status: request.status,
  code: request.code,
  message: request.message,
  problems: request.problems,
  body: request.body,
  client_address: request.clientAddress,
  user_agent: request.userAgent,
  duration_ms: request.durationMs,
  count: request.count,
  address_digests: request.addressDigests,
});

const SHOWN = `
  id, organization_id as "organizationId", environment, domain_id as "domainId", principal_id as "principalId", at, method,
  route, path, status, code, message, problems, body, client_address as "clientAddress", user_agent as "userAgent",
  duration_ms as "durationMs", count`;

type Conditions = readonly (readonly [condition: string, value: unknown])[];

/** `?` is the value. Contains only the requested conditions, so that the plan fits them. */
const conditionsOf = (filter: RefusedRequestFilter): Conditions =>
  (
    [
      ['organization_id = ?', filter.organizationId],
      ['environment = ?', filter.environment],
      ['domain_id = ?', filter.domainId ?? undefined],
      ['principal_id = ?', filter.principalId],
      ['code = ?', filter.code],
      ['status = ?', filter.status],
      ['route = ?', filter.route],
      ['at >= ?', filter.since],
      ['at < ?', filter.until],
    ] as const
  ).filter(([, value]) => value !== undefined);

const whereOf = (conditions: Conditions) => ({
  text: conditions.map(([condition], index) => condition.replace('?', `$${index + 1}`)).join(' and '),
  values: conditions.map(([, value]) => value),
});

/** Newest rows first: with an index each on its own, on a key and on a code. */
const ORDER = 'order by at desc, id desc';

interface CountRow {
  readonly code: RefusedRequest['code'] | null;
  readonly status: number | null;
  readonly principal_id: string | null;
  readonly total: string;
}

const countsOf = (rows: readonly CountRow[]): RefusedRequestCounts => ({
  total: rows
    .filter(({ code, principal_id }) => code === null && principal_id === null)
    .reduce((sum, { total }) => sum + Number(total), 0),
  byCode: rows.flatMap(({ code, status, total }) =>
    code === null || status === null ? [] : [{ code, status, count: Number(total) }],
  ),
  byPrincipal: rows.flatMap(({ principal_id: principalId, total }) =>
    principalId === null ? [] : [{ principalId, count: Number(total) }],
  ),
});

/** Bounds the groups, since there are as many principals as keys ever made. */
const GROUPS_MAX = 200;

/** Refused requests in the vault. */
export const createPostgresRefusedRequests = ({ pool }: { readonly pool: Pool }): RefusedRequests => {
  const query = <Row extends object>(text: string, values: readonly unknown[]) =>
    orUnavailable(pool.query<Row>(text, [...values]));

  return {
    record: async (requests) => {
      await pool.query({ ...RECORD, values: [JSON.stringify(requests.map(rowOf))] });
    },
    list: async ({ limit, after, ...filter }) => {
      const { text, values } = whereOf(conditionsOf(filter));
      const place = `($${values.length + 2}::timestamptz is null or (at, id) < ($${values.length + 2}, $${values.length + 3}))`;
      const { rows } = await query<RefusedRequest>(
        `select ${SHOWN} from vault.refused_requests where ${text} and ${place} ${ORDER} limit $${values.length + 1}`,
        [...values, limit, after?.createdAt ?? null, after?.id ?? ''],
      );
      return rows;
    },
    find: async (filter, id) => {
      const { text, values } = whereOf([...conditionsOf(filter), ['id = ?', id]]);
      const { rows } = await query<RefusedRequest>(`select ${SHOWN} from vault.refused_requests where ${text}`, values);
      return rows[0] ?? null;
    },
    counts: async (filter) => {
      const { text, values } = whereOf(conditionsOf(filter));
      const { rows } = await query<CountRow>(
        `with newest as (
          select code, status, principal_id, count from vault.refused_requests where ${text}
          ${ORDER} limit ${REFUSED_REQUESTS_COUNTED_MAX})
        select code, status, principal_id, sum(count) as total from newest
        group by grouping sets ((code, status), (principal_id), ())
        order by total desc, code, principal_id limit ${GROUPS_MAX}`,
        values,
      );
      return countsOf(rows);
    },
  };
};
