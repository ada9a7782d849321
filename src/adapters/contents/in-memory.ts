import type { Contents, MessageContents } from '../../domain/contents.ts';

/** For tests and simulations: gone with the process. */
export const createInMemoryContents = (): Contents => {
  const bodies = new Map<string, MessageContents['body']>();
  return {
    put: async (contents) => {
      for (const { id, body } of contents) if (!bodies.has(id)) bodies.set(id, structuredClone(body));
    },
    get: async (ids) => {
      const found = new Map<string, MessageContents['body']>();
      for (const id of ids) {
        const body = bodies.get(id);
        if (body !== undefined) found.set(id, structuredClone(body));
      }
      return found;
    },
  };
};
