import { originPart, type RequestOrigin, type RequestOrigins } from '../../../src/domain/ports/requests.ts';

/** Origins that are lost when the process ends. @param kept holds them. */
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
  userAgentsOf: async (organizationId, ids) =>
    new Map(
      kept
        .filter((origin) => origin.organizationId === organizationId && ids.includes(origin.id))
        .flatMap(({ id, userAgent }) => (userAgent === null ? [] : [[id, userAgent] as const])),
    ),
  partOf: async (organizationId, id) => {
    const found = kept.find((origin) => origin.organizationId === organizationId && origin.id === id);
    return found === undefined ? null : originPart(found);
  },
  close: async () => undefined,
});
