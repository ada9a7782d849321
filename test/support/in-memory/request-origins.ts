import type { RequestOrigin, RequestOrigins } from '../../../src/domain/ports/request-origins.ts';

/** Origins that end with the process. @param kept where they are put. */
export const createInMemoryRequestOrigins = (kept: RequestOrigin[] = []): RequestOrigins => ({
  put: async (origin) => {
    kept.push(origin);
  },
  close: async () => undefined,
});
