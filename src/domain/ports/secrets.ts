/**
 * PORT: the vault's secrets: what must be known again in clear, such as signing secrets of webhooks. Under the id that
 * events name, and never changed. Adapters: `adapters/secrets/{in-memory,postgres}`.
 */
export interface Secrets {
  /** Stores a secret; an id that exists already keeps its first. Durable when it resolves. */
  put(id: string, organizationId: string, plaintext: string): Promise<void>;
  /** @throws {WrongSecretKey} it was encrypted with another key. */
  get(id: string): Promise<string | undefined>;
  /** Destroys secrets; those that are not there are left alone. What a process has read it may remember until it ends. */
  destroy(ids: readonly string[]): Promise<void>;
}

/** What is stored does not open with the key this process has. */
export class WrongSecretKey extends Error {
  override readonly name = 'WrongSecretKey';
}
