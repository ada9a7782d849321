import type { HostAddress } from '../../../domain/ports/resolver.ts';
import type { SessionTarget } from '../session-target.ts';
import { noReply, type SmtpReply } from '../smtp-reply.ts';
import type { createMxAddresses } from './mx-addresses.ts';
import type { MxRoute } from './mx-routes.ts';
import type { Hop } from './session-pools.ts';
import type { SourceAddresses } from './source-addresses.ts';
import type { HostSecurity, TransportSecurity } from './transport-security.ts';
import type { UnreachableAddresses } from './unreachable-addresses.ts';

/** What comes next on the way to a domain: an address to try, or a server that cannot be. */
export type Step =
  | Hop
  | {
      readonly host: string;
      readonly problem: SmtpReply;
      /** It is none of the domain's doing. */
      readonly isOurs?: true;
    };

export interface HopsOptions {
  readonly addressesOf: ReturnType<typeof createMxAddresses>;
  readonly security: TransportSecurity;
  readonly sourceOf: SourceAddresses;
  readonly unreachable: UnreachableAddresses;
  readonly port: number;
}

type Route = Extract<MxRoute, { kind: 'hosts' }>;

/** More are asked about by nobody but whoever wants us to be busy. */
const HOSTS_MAX = 10;
/** More leave no time for the next server of a domain whose first is dead, fewer miss one that works. */
const ADDRESSES_PER_HOST_MAX = 3;

const targetOf = (host: string, { address }: HostAddress, port: number, tls: SessionTarget['tls']): SessionTarget => ({
  ...{ host, address, port, implicitTls: false, credentials: null, tls },
});

/** Finds the way to a domain, step by step: later servers are not looked up before they are needed. */
export const createHops = ({ addressesOf, security, sourceOf, unreachable, port }: HopsOptions) => {
  const hopTo = (domain: string, host: string, found: HostAddress, { tls, key }: Held): Hop | null => {
    const localAddress = sourceOf(domain, found.family);
    if (localAddress === null) return null;
    const target = targetOf(host, found, port, tls);
    return {
      key: `${host} ${found.address} ${localAddress ?? ''} ${key}`,
      target: localAddress === undefined ? target : { ...target, localAddress },
    };
  };

  const stepsTo = async (domain: string, host: string, held: HostSecurity): Promise<readonly Step[]> => {
    if ('problem' in held) return [{ host, problem: held.problem }];
    const found = await addressesOf(host);
    if ('problem' in found) return [{ host, problem: found.problem }];
    const hops = found.addresses.flatMap((address) => hopTo(domain, host, address, held) ?? []);
    if (hops.length > 0) return hops.slice(0, ADDRESSES_PER_HOST_MAX);
    const problem = noReply(`${host} has no address of a family that SOURCE_ADDRESSES has one of`);
    return [{ host, problem, isOurs: true }];
  };

  const isAvoided = (step: Step): boolean => 'key' in step && unreachable.isAvoided(step.target.address ?? '');

  return async function* hopsOf(domain: string, { hosts, authenticated }: Route): AsyncGenerator<Step> {
    const securityOf = await security.ofDomain(domain, authenticated);
    const avoided: Step[] = [];
    for (const { host } of hosts.slice(0, HOSTS_MAX)) {
      const steps = await stepsTo(domain, host, await securityOf(host));
      avoided.push(...steps.filter(isAvoided));
      yield* steps.filter((step) => !isAvoided(step));
    }
    yield* avoided;
  };
};

type Held = Exclude<HostSecurity, { readonly problem: SmtpReply }>;
export type HopsOf = ReturnType<typeof createHops>;
