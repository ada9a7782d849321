import type { Secrets } from '../../../src/domain/ports/secrets.ts';

/** Secrets for tests and simulations, in clear text, lost when the process ends. */
export const createInMemorySecrets = (): Secrets => {
  const secrets = new Map<string, string>();
  return {
    put: async (id, _organizationId, plaintext) => {
      if (!secrets.has(id)) secrets.set(id, plaintext);
    },
    get: async (id) => secrets.get(id),
    destroy: async (ids) => {
      for (const id of ids) secrets.delete(id);
    },
  };
};
