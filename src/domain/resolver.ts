/** PORT: DNS. Adapters: `adapters/dns/system`. */
export interface Resolver {
  /**
   * TXT records of a host, the strings of each joined; empty where there is none.
   * @throws {ResolverUnavailable} no answer: nothing is known, which is not the same as "none".
   */
  txt(host: string): Promise<readonly string[]>;
}

export class ResolverUnavailable extends Error {
  override readonly name = 'ResolverUnavailable';
}
