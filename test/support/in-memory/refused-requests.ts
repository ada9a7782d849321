import type { RecordedRefusal, RefusedRequestFilter, RefusedRequests } from '../../../src/domain/ports/requests.ts';

/** True if a request matches the filter. */
const matches =
  (filter: RefusedRequestFilter) =>
  (one: RecordedRefusal): boolean =>
    one.organizationId === filter.organizationId &&
    one.environment === filter.environment &&
    (filter.domainId === null || one.domainId === filter.domainId) &&
    (filter.principalId === undefined || one.principalId === filter.principalId) &&
    (filter.code === undefined || one.code === filter.code);

/** Refused requests that are lost when the process ends. @param kept holds them by id. */
export const createInMemoryRefusedRequests = (kept = new Map<string, RecordedRefusal>()): RefusedRequests => ({
  record: async (requests) => {
    for (const one of requests) kept.set(one.id, { ...one, count: one.count + (kept.get(one.id)?.count ?? 0) });
  },
  list: async ({ limit, ...filter }) => [...kept.values()].filter(matches(filter)).reverse().slice(0, limit),
  find: async (filter, id) => [...kept.values()].filter(matches(filter)).find((one) => one.id === id) ?? null,
  counts: async (filter) => ({
    total: [...kept.values()].filter(matches(filter)).reduce((sum, { count }) => sum + count, 0),
    byCode: [],
    byPrincipal: [],
  }),
});
