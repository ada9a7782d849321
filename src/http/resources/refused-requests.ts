import { z } from 'zod';
import type { Caller } from '../../domain/api-key/caller.ts';
import { allows } from '../../domain/api-key/events.ts';
import { DomainError, ERROR_CATALOGUE, type ErrorCode } from '../../domain/kernel/errors.ts';
import type { RefusedRequest, RefusedRequestFilter } from '../../domain/ports/requests.ts';
import { pageOf, rowsToAsk } from '../../lib/projections/projections.ts';
import { seesContents, visibleDomainId } from '../auth/permissions.ts';
import { endpoint } from '../endpoint.ts';
import {
  definedIn,
  idParameter,
  integerParameter,
  line,
  listOf,
  listSchema,
  pageParameters,
  REQUEST_ID_PATTERN,
  timeParameter,
  timeSchema,
} from '../fields.ts';
import { decodeCursor, encodeCursor } from '../reading.ts';

const codes = Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[]; // the keys of that very object

const place = (what: string) => z.number().int().nullable().describe(what);

const problemSchema = z.strictObject({
  field: z.string().describe('Name of the field, as in `details` of the error.'),
  sentence: z.string(),
  pointer: z
    .string()
    .nullable()
    .describe('JSON Pointer (RFC 6901) to the field, or to the object that lacks it. null: not in the body.'),
  line: place('Line in the body as sent, from 1. null: not in the body, or too far into it to be located.'),
  column: place('Column in that line, from 1, in UTF-16 code units.'),
  start: place('Offset in `body.text` where the field starts. null: this part of the body is not shown.'),
  end: place('Offset in `body.text` where the field ends.'),
});

const principal = {
  key_id: z.string().nullable().describe('API key that sent the request. null: not an API key.'),
  member_id: z.string().nullable().describe('Member who sent the request. null: not a member.'),
  auditor_id: z.string().nullable().describe('Auditor who sent the request. null: not an auditor.'),
};

const refusedRequestSchema = z
  .strictObject({
    id: z.string().describe('The `X-Request-Id` of the response.'),
    object: z.literal('refused_request'),
    at: timeSchema(),
    ...principal,
    method: z.string(),
    route: z.string().nullable().describe('Path as documented, such as `/v1/messages/:id`. null: unknown path.'),
    path: z
      .string()
      .describe('Requested path, without the query. Segments that could contain personal data are `***`.'),
    status: z.number().int(),
    code: z.enum(codes),
    message: z.string(),
    problems: z
      .array(problemSchema)
      .describe('The first 20 problems of the error’s `details`, or the place where the JSON is invalid.'),
    client_address: z
      .string()
      .nullable()
      .describe('IP address of the request. Only the key that sent it and live keys with `admin` see it.'),
    user_agent: z.string().nullable(),
    duration_ms: z.number().int(),
    count: z
      .number()
      .int()
      .describe(
        'Number of requests that this entry represents. Above 1 for requests over a rate or concurrency limit, which are ' +
          'counted per minute.',
      ),
  })
  .meta({ id: 'RequestRefusal' });

const shownRefusedRequestSchema = refusedRequestSchema
  .extend({
    meaning: z.string().describe('Meaning of the code.'),
    remedy: z.string().describe('How to fix it.'),
    body: z
      .strictObject({
        text: z
          .string()
          .describe(
            'The body, at most 4 kB, with field names, numbers and words of the API. All other text is replaced by `***` and its ' +
              'length, and addresses by `***` and their domain.',
          ),
        formatted: z.boolean().describe('true: the body was sent on one line and is shown on several.'),
        cut: z.boolean().describe('true: the body was longer than what is shown.'),
      })
      .nullable()
      .describe('null: the request had no body, the body was not stored, or your role may not see it.'),
  })
  .meta({ id: 'ShownRequestRefusal' });

export type SerializedRefusedRequest = z.infer<typeof refusedRequestSchema>;
export type ShownRefusedRequest = z.infer<typeof shownRefusedRequestSchema>;

const refusedRequestCountsSchema = z
  .strictObject({
    object: z.literal('refused_request_counts'),
    total: z.number().int(),
    codes: z.array(z.strictObject({ code: z.enum(codes), status: z.number().int(), count: z.number().int() })),
    principals: z.array(z.strictObject({ ...principal, count: z.number().int() })),
  })
  .meta({ id: 'RequestRefusalCounts' });
export type SerializedRefusedRequestCounts = z.infer<typeof refusedRequestCountsSchema>;

/** Requests that were refused. The own process writes what it has noted first: who was refused may look at once. */

const LIST = 'requests';
const REQUEST_ID = new RegExp(REQUEST_ID_PATTERN);
const CODE_CHARACTERS_MAX = 64;
const ROUTE_CHARACTERS_MAX = 200;

const filters = {
  key_id: idParameter('key').describe('Only requests of this API key.'),
  member_id: idParameter('member').describe('Only requests of this member.'),
  code: line(CODE_CHARACTERS_MAX).optional().describe('Only requests that were answered with this error code.'),
  status: integerParameter(400, 499).optional().describe('Only requests that were answered with this status.'),
  path: line(ROUTE_CHARACTERS_MAX)
    .optional()
    .describe('Only requests to this path, as documented: `/v1/messages/:id`.'),
  since: timeParameter()
    .optional()
    .describe(
      'Only requests refused at or after this time (ISO 8601), or from this day on (time zone of the organization).',
    ),
  until: timeParameter()
    .optional()
    .describe('Only requests refused before this time (ISO 8601), or before this day (time zone of the organization).'),
};
const countsQuery = z.strictObject(filters);
const listQuery = z.strictObject({ ...pageParameters, ...filters });
type CountsQuery = z.output<typeof countsQuery>;

export const scopeOf = (caller: Caller): Pick<RefusedRequestFilter, 'organizationId' | 'environment' | 'domainId'> => ({
  organizationId: caller.organizationId,
  environment: caller.environment,
  domainId: visibleDomainId(caller),
});

/** null: nothing is by a key and by a member. */
const filterOf = (
  caller: Caller,
  { key_id, member_id, code, status, path, since, until }: CountsQuery,
): RefusedRequestFilter | null =>
  key_id !== undefined && member_id !== undefined
    ? null
    : {
        ...scopeOf(caller),
        ...definedIn({ principalId: key_id ?? member_id, code, status, route: path, since, until }),
      };

/** An id says by its prefix what it is of. */
const principalOf = (id: string): Pick<SerializedRefusedRequest, 'key_id' | 'member_id' | 'auditor_id'> => ({
  key_id: id.startsWith('key_') ? id : null,
  member_id: id.startsWith('mbr_') ? id : null,
  auditor_id: id.startsWith('aud_') ? id : null,
});

const seesAddressOf = ({ keyId, environment, permissions }: Caller, { principalId }: RefusedRequest): boolean =>
  keyId === principalId || (environment === 'live' && allows(permissions, 'admin'));

const serialize = (caller: Caller, request: RefusedRequest): SerializedRefusedRequest => ({
  id: request.id,
  object: 'refused_request',
  at: request.at.toISOString(),
  ...principalOf(request.principalId),
  method: request.method,
  route: request.route,
  path: request.path,
  status: request.status,
  code: request.code,
  message: request.message,
  problems: request.problems.map((problem) => ({ ...problem })),
  client_address: seesAddressOf(caller, request) ? request.clientAddress : null,
  user_agent: request.userAgent,
  duration_ms: request.durationMs,
  count: request.count,
});

export const listRefusedRequestsRoute = endpoint(
  'GET /v1/requests',
  {
    summary: 'List refused requests',
    description:
      'Returns the requests of API keys and members that were answered with 4xx in the last seven days. Requests over a rate ' +
      'limit, and requests beyond the recording limit of an organization, are counted per minute: their `count` is above 1. ' +
      'Keys without `manage` or `admin` see only the requests of their own domain.',
    query: listQuery,
    answer: listSchema(refusedRequestSchema),
  },
  async ({ caller, query: { limit, after: cursor, ...asked } }, { deps, refusals }) => {
    const after = decodeCursor(LIST, cursor, REQUEST_ID);
    const filter = filterOf(caller, asked);
    if (filter === null) return listOf([], false, null);
    await refusals.flush();
    const rows = await deps.readModels.inShareOf(caller.organizationId, () =>
      deps.refusedRequests.list({ ...filter, after, limit: rowsToAsk(limit) }),
    );
    const page = pageOf(rows, limit, ({ at, id }) => ({ createdAt: at.toISOString(), id }));
    return listOf(
      page.items.map((request) => serialize(caller, request)),
      page.hasMore,
      encodeCursor(LIST, page.next),
    );
  },
);

export const countRefusedRequestsRoute = endpoint(
  'GET /v1/requests/counts',
  {
    summary: 'Count refused requests',
    description:
      'Counts the refused requests by error code and by who sent them, the most frequent first. Counts at most the newest 50,000 entries of the list.',
    query: countsQuery,
    answer: refusedRequestCountsSchema,
  },
  async ({ caller, query }, { deps, refusals }): Promise<SerializedRefusedRequestCounts> => {
    const filter = filterOf(caller, query);
    await refusals.flush();
    const counts =
      filter === null
        ? { total: 0, byCode: [], byPrincipal: [] }
        : await deps.readModels.inShareOf(caller.organizationId, () => deps.refusedRequests.counts(filter));
    return {
      object: 'refused_request_counts',
      total: counts.total,
      codes: counts.byCode.map((one) => ({ ...one })),
      principals: counts.byPrincipal.map(({ principalId, count }) => ({ ...principalOf(principalId), count })),
    };
  },
);

export const getRefusedRequestRoute = endpoint(
  'GET /v1/requests/:id',
  {
    summary: 'Get a refused request',
    description:
      'Returns a refused request with its body, by the `X-Request-Id` of its response. Of requests that were counted per minute, only the first can be found.',
    answer: shownRefusedRequestSchema,
    etag: false,
  },
  async ({ caller, id }, { deps, refusals }): Promise<ShownRefusedRequest> => {
    await refusals.flush();
    const found = REQUEST_ID.test(id)
      ? await deps.readModels.inShareOf(caller.organizationId, () => deps.refusedRequests.find(scopeOf(caller), id))
      : null;
    if (found === null) throw new DomainError('not_found', 'refused request not found');
    const { body } = found;
    const { meaning, remedy } = ERROR_CATALOGUE[found.code];
    return {
      ...serialize(caller, found),
      meaning,
      remedy,
      body: body !== null && seesContents(caller) ? { ...body } : null,
    };
  },
);
