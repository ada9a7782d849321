/**
 * PORT: the vault's secrets, which must be readable again in clear, such as signing secrets of webhooks. They are
 * stored under the id that events name, and never changed. Adapters: `adapters/secrets/{in-memory,postgres}`.
 */
export interface Secrets {
  /** Stores a secret. An existing id keeps its first value. Durable when it resolves. */
  put(id: string, organizationId: string, plaintext: string): Promise<void>;
  /** @throws {WrongSecretKey} if it was encrypted with another key. */
  get(id: string): Promise<string | undefined>;
  /**
   * Destroys secrets; missing ones are ignored. A process may keep a secret that it has read in memory until it exits.
   */
  destroy(ids: readonly string[]): Promise<void>;
}

/** The stored secret cannot be decrypted with this process's key. */
export class WrongSecretKey extends Error {
  override readonly name = 'WrongSecretKey';
}
