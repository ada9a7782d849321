import type { RequestOrigin, RequestOrigins } from '../../../src/domain/ports/request-origins.ts';

/** Origins that end with the process. @param kept where they are put. */
export const createInMemoryRequestOrigins = (kept: RequestOrigin[] = []): RequestOrigins => ({
  put: async (origin) => {
    kept.push(origin);
  },
  addressesOf: async (organizationId, ids) =>
    new Map(
      kept
        .filter((origin) => origin.organizationId === organizationId && ids.includes(origin.id))
        .map(({ id, address }) => [id, address]),
    ),
  close: async () => undefined,
});
