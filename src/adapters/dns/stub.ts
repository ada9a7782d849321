import { getServers } from 'node:dns';
import { type NameServer, readNameServer } from '../../domain/name-server.ts';
import type { DnsAnswer, HostAddress, QuestionOptions, Resolver } from '../../domain/resolver.ts';
import { ResolverUnavailable } from '../../domain/resolver.ts';
import type { System } from '../../domain/system.ts';
import { createAskServers } from './ask-servers.ts';
import { createLookUp } from './look-up.ts';
import { isAskable, type Question } from './question.ts';
import { type ReadRecord, readIpv4, readIpv6, readMx, readTlsa, readTxt } from './records.ts';
import { createRememberAnswers } from './remember-answers.ts';

export interface StubResolverOptions {
  readonly system: Pick<System, 'monotonicMs' | 'randomBytes'>;
  /** Resolvers, the first one first. None: the machine's own. */
  readonly servers?: readonly NameServer[];
  /** Of one try. Shorter gives up on slow but working servers, longer keeps whoever asked waiting. */
  readonly timeoutMs?: number;
}

export interface StubResolver extends Resolver {
  close(): Promise<void>;
}

const TIMEOUT_MS = 2000;

/** A name that cannot be asked for is the name of nothing. */
const NOTHING = { records: [], exists: false, authenticated: false, aliases: [] } as const;

type Settled = PromiseSettledResult<DnsAnswer<HostAddress>>;

/**
 * Many servers fail at AAAA alone, and their hosts are reached by IPv4 all the same. Whoever makes one of two questions
 * fail gains nothing by it: what is left is authenticated or it is not.
 */
const bothFamilies = (four: Settled, six: Settled): DnsAnswer<HostAddress> => {
  const known = [four, six].flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const records = known.flatMap((each) => each.records);
  const failed = [four, six].find((each) => each.status === 'rejected');
  // A name that does not exist has no records of any type (RFC 8020 §2).
  const isKnown = records.length > 0 || known.some(({ exists }) => !exists);
  if (failed !== undefined && !isKnown) throw failed.reason;
  return {
    records,
    exists: known.some(({ exists }) => exists),
    authenticated: known.every(({ authenticated }) => authenticated),
    aliases: known.find(({ aliases }) => aliases.length > 0)?.aliases ?? [],
  };
};

/**
 * Asks resolvers (never the zones' own servers) over UDP and TCP. It is ours, on top of a library for packets alone,
 * since `node:dns` tells neither what DNSSEC has proved (AD), nor aliases, nor how long MX, TXT and TLSA records hold.
 * AD is believed as it comes: the way to the resolver must be one that nobody else writes on (RFC 6698 §A.3), best of
 * all on this machine.
 */
export const createStubResolver = (options: StubResolverOptions): StubResolver => {
  const { system, timeoutMs = TIMEOUT_MS } = options;
  const given = options.servers ?? [];
  const servers = given.length > 0 ? given : getServers().map(readNameServer);
  const asking = createAskServers({ servers, system, timeoutMs });
  const lookUp = createLookUp(asking);
  const remember = createRememberAnswers(system);
  let isClosed = false;

  const asker =
    <Found>(type: Question['type'], read: ReadRecord<Found>) =>
    async (host: string, { fresh = false }: QuestionOptions = {}): Promise<DnsAnswer<Found>> => {
      if (isClosed) throw new ResolverUnavailable('the resolver is closed');
      const question = { name: host.toLowerCase().replace(/\.$/, ''), type };
      if (!isAskable(question.name)) return NOTHING;
      return remember({ key: `${type} ${question.name}`, fresh, lookUp: () => lookUp(question, read) });
    };

  const ipv4 = asker('A', readIpv4);
  const ipv6 = asker('AAAA', readIpv6);
  return {
    txt: asker('TXT', readTxt),
    mx: asker('MX', readMx),
    tlsa: asker('TLSA', readTlsa),
    addresses: async (host, asked) => {
      const [four, six] = await Promise.allSettled([ipv4(host, asked), ipv6(host, asked)]);
      return bothFamilies(four, six);
    },
    close: async () => {
      isClosed = true;
      asking.close();
    },
  };
};
