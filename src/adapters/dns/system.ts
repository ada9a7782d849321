import { promises as dns } from 'node:dns';
import { type DnsAnswer, type Resolver, ResolverUnavailable } from '../../domain/resolver.ts';

export interface SystemResolverOptions {
  /** `address[:port]` of name servers; the machine's own by default. */
  readonly servers?: readonly string[];
}

/** Per try. Shorter gives up on slow but working servers, longer keeps whoever asked waiting. */
const TIMEOUT_MS = 2000;
const TRIES = 2;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';

/** The name does not exist, or has no such record: an answer, and the answer is "none". */
const answerOf = async <Found>(question: string, records: Promise<readonly Found[]>): Promise<DnsAnswer<Found>> => {
  const answer = { authenticated: false, aliases: [] };
  try {
    return { ...answer, exists: true, records: await records };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOTFOUND' || code === 'ENODATA') return { ...answer, exists: code === 'ENODATA', records: [] };
    throw new ResolverUnavailable(`DNS does not answer for ${question}: ${code}`, { cause: error });
  }
};

/** DNS as the machine is configured (c-ares, not the thread pool). */
export const createSystemResolver = ({ servers }: SystemResolverOptions = {}): Resolver => {
  const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const txt = async (host: string) => (await resolver.resolveTxt(host)).map((strings) => strings.join(''));
  const mx = async (host: string) =>
    (await resolver.resolveMx(host)).map(({ exchange, priority }) => ({
      exchange: exchange.toLowerCase(),
      preference: priority,
    }));
  const tlsa = async (host: string) =>
    (await resolver.resolveTlsa(host)).map(({ certUsage, selector, match, data }) => ({
      ...{ usage: certUsage, selector, matchingType: match },
      data: Buffer.from(data).toString('hex'),
    }));
  const addressesOf = async (host: string, family: 4 | 6) => {
    const ask = family === 4 ? resolver.resolve4(host) : resolver.resolve6(host);
    return answerOf(
      `the addresses of ${host}`,
      ask.then((found) => found.map((address) => ({ address, family }))),
    );
  };
  return {
    txt: (host) => answerOf(`TXT ${host}`, txt(host)),
    mx: (host) => answerOf(`MX ${host}`, mx(host)),
    tlsa: (host) => answerOf(`TLSA ${host}`, tlsa(host)),
    addresses: async (host) => {
      const [four, six] = await Promise.all([addressesOf(host, 4), addressesOf(host, 6)]);
      return { ...four, exists: four.exists || six.exists, records: [...four.records, ...six.records] };
    },
  };
};
