import { promises as dns } from 'node:dns';
import { type Resolver, ResolverUnavailable } from '../../domain/resolver.ts';

export interface SystemResolverOptions {
  /** `address[:port]` of name servers; the machine's own by default. */
  readonly servers?: readonly string[];
}

/** Per try. Shorter gives up on slow but working servers, longer keeps whoever asked waiting. */
const TIMEOUT_MS = 2000;
const TRIES = 2;
/** The name does not exist, or has no such record: an answer, and the answer is "none". */
const NONE = ['ENOTFOUND', 'ENODATA'];

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';

/** DNS as the machine is configured (c-ares, not the thread pool). */
export const createSystemResolver = ({ servers }: SystemResolverOptions = {}): Resolver => {
  const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return {
    txt: async (host) => {
      try {
        return (await resolver.resolveTxt(host)).map((strings) => strings.join(''));
      } catch (error) {
        const code = codeOf(error);
        if (NONE.includes(code)) return [];
        throw new ResolverUnavailable(`DNS does not answer for TXT ${host}: ${code}`, { cause: error });
      }
    },
  };
};
