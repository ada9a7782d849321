import type { ConnectionOptions } from 'node:tls';
import { domainOf } from '../../../domain/email-address.ts';
import type { OutgoingMail, RecipientOutcome } from '../../../domain/ports/mail-transport.ts';
import type { Resolver } from '../../../domain/ports/resolver.ts';
import type { System } from '../../../domain/ports/system.ts';
import { createDeadline } from '../deadline.ts';
import { GREETING_TIMES, type GreetingTimes } from '../greeting-patience.ts';
import { createOutgoingMessages } from '../outgoing-messages.ts';
import type { PooledTransport } from '../pooled-transport.ts';
import type { ReadyMail } from '../send-on-session.ts';
import { inOrder } from '../smtp-outcomes.ts';
import { createDeliverToDomain } from './deliver-to-domain.ts';
import { createHops } from './hops.ts';
import { createMxAddresses } from './mx-addresses.ts';
import type { MxRoutes } from './mx-routes.ts';
import { type Nowhere, nowhereOutcomes } from './nowhere-outcomes.ts';
import { createOpenHop } from './open-hop.ts';
import { createSessionPools } from './session-pools.ts';
import { createSourceAddresses } from './source-addresses.ts';
import type { TransportSecurity } from './transport-security.ts';
import { createUnreachableAddresses } from './unreachable-addresses.ts';

export interface DirectTransportOptions {
  readonly routes: MxRoutes;
  readonly resolver: Resolver;
  readonly security: TransportSecurity;
  readonly system: System;
  readonly ehloName: string;
  /** IPs of ours to send from, by the recipient's domain; empty: the machine chooses. */
  readonly sourceAddresses: readonly string[];
  /** Servers on this machine and in private networks are taken too. */
  readonly allowPrivate: boolean;
  /** Of all mail servers. */
  readonly port: number;
  /** With all servers together. */
  readonly sessionsMax?: number;
  readonly sessionsPerServerMax?: number;
  readonly sessionsPerAddressMax?: number;
  /** For the connection. */
  readonly connectMs?: number;
  /** Default: `connectMs`, or else `GREETING_TIMES`. */
  readonly greeting?: GreetingTimes;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
}

/**
 * Each is a socket and some 50 kB while it is in use. Fewer than there are destinations at a time and each message makes a
 * session of its own, having ended the one that the next would have used; slow ones keep theirs for long.
 */
const SESSIONS_MAX = 2000;
/** No server wants more from one address; what it wants is learned by whoever gives out the work. */
const SESSIONS_PER_SERVER_MAX = 20;
/** Anybody can have names that lead to somebody else's server, which counts all of its sessions with us. Fewer make those of one name wait for others'. */
const SESSIONS_PER_ADDRESS_MAX = 40;
/** A dead server must leave time for the next of its domain. */
const CONNECT_MS = 30_000;

const greetingOf = ({ greeting, connectMs }: DirectTransportOptions): GreetingTimes => {
  if (greeting !== undefined) return greeting;
  return connectMs === undefined ? GREETING_TIMES : { firstMs: connectMs, againMs: connectMs };
};

/** The same mail, once for each domain of its recipients. */
const byDomain = (mail: OutgoingMail): readonly (readonly [domain: string, mail: OutgoingMail])[] => {
  const groups = Map.groupBy(mail.envelope.to, ({ address }) => domainOf(address));
  return [...groups].map(([domain, recipients]) => [
    domain,
    { ...mail, envelope: { ...mail.envelope, to: recipients } },
  ]);
};

const OUR_FAULT: Nowhere = { outcome: 'deferred', enhanced: null, text: 'a fault of this service: it is tried again' };

/** Sends mail to the recipients' own servers, over sessions that are kept. */
export const createDirectTransport = (options: DirectTransportOptions): PooledTransport => {
  const { system, ehloName, port, connectMs = CONNECT_MS, tls } = options;
  const messages = createOutgoingMessages(system);
  const unreachable = createUnreachableAddresses(system);

  const pools = createSessionPools({
    open: createOpenHop({ unreachable, ehloName, connectMs, greeting: greetingOf(options), ...(tls && { tls }) }),
    sessionsMax: options.sessionsMax ?? SESSIONS_MAX,
    sessionsPerServerMax: options.sessionsPerServerMax ?? SESSIONS_PER_SERVER_MAX,
    sessionsPerAddressMax: options.sessionsPerAddressMax ?? SESSIONS_PER_ADDRESS_MAX,
  });
  const addressesOf = createMxAddresses(options);
  const sourceOf = createSourceAddresses(options.sourceAddresses);
  const hopsOf = createHops({ addressesOf, security: options.security, sourceOf, unreachable, port });
  const deliver = createDeliverToDomain({ routes: options.routes, hopsOf, pools });

  const deliverAll = async (ready: ReadyMail): Promise<readonly RecipientOutcome[]> => {
    const parts = byDomain(ready.mail);
    const results = await Promise.allSettled(parts.map(([domain, mail]) => deliver(domain, { ...ready, mail })));
    const fault = results.find((result) => result.status === 'rejected');
    if (results.every((result) => result.status === 'rejected')) throw fault?.reason;
    // What the servers of one domain said is not lost for a fault with another: copies are out.
    const told = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    return inOrder(ready.mail, [...nowhereOutcomes(ready.mail, OUR_FAULT, null), ...told]);
  };

  return {
    send: async (mail, sendOptions) => {
      const messageFor = await messages.prepare(mail);
      const deadline = createDeadline(system, sendOptions);
      try {
        return await deliverAll({ mail, messageFor, deadline });
      } finally {
        deadline.end();
      }
    },
    sessions: pools.sessions,
    close: async () => {
      await Promise.all([pools.close(), messages.close()]);
    },
  };
};
