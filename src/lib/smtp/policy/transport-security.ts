import type { TLSSocket } from 'node:tls';
import type { Logger, System } from '../../async/async.ts';
import { noReply, type SmtpReply } from '../client/connection.ts';
import type { SessionTarget } from '../client/session.ts';
import { type Resolver, ResolverUnavailable } from '../dns/resolver.ts';
import { type Dane, daneOf, daneProblem, peerChain, USAGE } from './dane.ts';
import { type MtaSts, mxMatches, type StsPolicy } from './mta-sts.ts';

/**
 * Requirements for a session with a server, or why there must be none. Sessions with the same `key` have equal
 * requirements.
 */
export type HostSecurity =
  | { readonly tls: SessionTarget['tls']; readonly key: string }
  | { readonly problem: SmtpReply };

export interface TransportSecurity {
  /** @param authenticated the domain's route. Neither function throws because of missing or bad answers from others. */
  ofDomain(domain: string, authenticated: boolean): Promise<(host: string) => Promise<HostSecurity>>;
}

interface TransportSecurityOptions {
  readonly resolver: Pick<Resolver, 'addresses' | 'tlsa'>;
  readonly mtaSts: Pick<MtaSts, 'policyOf'>;
  readonly system: Pick<System, 'now'>;
  readonly logger: Logger;
  /** Port of the mail servers, which is part of the name of their TLSA records. */
  readonly port: number;
}

type RequiredDane = Extract<Dane, { kind: 'required' }>;

const OPPORTUNISTIC = { key: 'opportunistic', tls: { required: false, check: 'none' } } as const;

/**
 * Decides what mail for a domain requires of the connection to each of its servers: DANE (RFC 7672), or else MTA-STS
 * (RFC 8461).
 */
export const createTransportSecurity = (options: TransportSecurityOptions): TransportSecurity => {
  const { resolver, mtaSts, system, logger, port } = options;

  const byDane = (domain: string, host: string, { records, baseName }: RequiredDane): HostSecurity => {
    const check = (socket: TLSSocket): Error | undefined => {
      const chain = peerChain(socket.getPeerCertificate(true));
      const problem = daneProblem({
        records,
        chain,
        names: [domain, host, baseName],
        nowMs: system.now().getTime(),
      });
      return problem === null ? undefined : new Error(`DANE: ${problem}`);
    };
    // Under a trust anchor, the certificate may be for the domain itself; otherwise the domain is irrelevant.
    const judged = records.some(({ usage }) => usage === USAGE.trustAnchor) ? domain : '';
    return { key: `dane ${judged} ${JSON.stringify(records)}`, tls: { required: true, check, policy: 'dane' } };
  };

  /** RFC 8461 §5: a policy in testing mode is reported but does not stop mail. */
  const tested = (policy: StsPolicy, domain: string, host: string): HostSecurity => {
    const check = (socket: TLSSocket): undefined => {
      const reason = mxMatches(policy, host) ? socket.authorizationError : 'a host that the policy does not name';
      if (reason)
        logger.info({ domain, mx: host, reason: String(reason) }, 'an MTA-STS policy in testing mode was not met');
    };
    return { key: OPPORTUNISTIC.key, tls: { required: false, check } };
  };

  const bySts = (policy: StsPolicy | null, domain: string, host: string): HostSecurity => {
    if (policy === null || policy.mode === 'none') return OPPORTUNISTIC;
    if (policy.mode === 'testing') return tested(policy, domain, host);
    return mxMatches(policy, host)
      ? { key: 'mta-sts', tls: { required: true, check: 'ca', policy: 'mta-sts' } }
      : { problem: noReply(`the domain's MTA-STS policy does not name ${host} as one of its mail servers`) };
  };

  const ofHost = async (host: string, known: { domain: string; policy: StsPolicy | null; authenticated: boolean }) => {
    // DANE comes before MTA-STS, which must not override a DANE failure (RFC 8461 §2).
    const dane = known.authenticated ? await daneOf(resolver, host, port) : ({ kind: 'none' } as const);
    if (dane.kind === 'required') return byDane(known.domain, host, dane);
    return bySts(known.policy, known.domain, host);
  };

  return {
    ofDomain: async (domain, authenticated) => {
      const policy = await mtaSts.policyOf(domain);
      return async (host) => {
        try {
          return await ofHost(host, { domain, policy, authenticated });
        } catch (error) {
          if (!(error instanceof ResolverUnavailable)) throw error;
          return { problem: noReply(`it is not known whether ${host} has to prove who it is: ${error.message}`) };
        }
      };
    },
  };
};
