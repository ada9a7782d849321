import { type Contents, headOf, type MessageContents } from '../../../src/domain/ports/contents.ts';

/** Contents for tests and simulations, lost when the process ends. */
export const createInMemoryContents = (): Contents => {
  const bodies = new Map<string, MessageContents['body']>();

  const find = <T>(ids: readonly string[], show: (body: MessageContents['body']) => T): ReadonlyMap<string, T> => {
    const found = new Map<string, T>();
    for (const id of ids) {
      const body = bodies.get(id);
      if (body !== undefined) found.set(id, structuredClone(show(body)));
    }
    return found;
  };

  return {
    put: async (contents) => {
      for (const { id, body } of contents) if (!bodies.has(id)) bodies.set(id, structuredClone(body));
    },
    get: async (ids) => find(ids, (body) => body),
    heads: async (ids) => find(ids, headOf),
  };
};
