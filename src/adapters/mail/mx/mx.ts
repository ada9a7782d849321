import type { ConnectionOptions } from 'node:tls';
import type { OutgoingMail, RecipientOutcome } from '../../../domain/ports/mail.ts';
import type { Logger, System } from '../../../lib/async/async.ts';
import { domainOf } from '../../../lib/mime/mime.ts';
import {
  createGreetingTimeouts,
  GREETING_TIMEOUTS,
  type GreetingTimeouts,
  openSmtpSession,
  type Resolver,
  SmtpConnectFailed,
  type SmtpSession,
  type TransportSecurity,
} from '../../../lib/smtp/smtp.ts';
import { createOutgoingMessages } from '../compose/signed-message.ts';
import { inOrder } from '../outcomes.ts';
import { createDeadline, type ReadyMail } from '../send.ts';
import type { PooledTransport } from '../smarthost/smarthost.ts';
import { createDeliverToDomain, type NoRoute, noRouteOutcomes } from './deliver-to-domain.ts';
import {
  createDeliveryTargets,
  createSourceAddresses,
  createUnreachableAddresses,
  type UnreachableAddresses,
} from './delivery-targets.ts';
import { createOwnHostWatch } from './own-host.ts';
import { createMxAddresses, type MxRoutes } from './routes.ts';
import { createSessionPools, type DeliveryTarget } from './session-pools.ts';

export interface OpenSessionOptions {
  readonly unreachable: UnreachableAddresses;
  readonly ehloName: string;
  readonly connectMs: number;
  readonly greeting: GreetingTimeouts;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
}

/** True if the server accepted no connection, or said nothing on it. Failures after TLS are about its identity. */
const isDead = ({ peer, reply, isAboutTls }: SmtpConnectFailed): boolean =>
  peer !== null && reply.code === 0 && !isAboutTls;

/** Opens sessions, and tracks addresses that did not answer. */
export const createOpenSession = ({ unreachable, ehloName, connectMs, greeting, tls }: OpenSessionOptions) => {
  const greetingTimeouts = createGreetingTimeouts(greeting);
  /** Sessions by address. If a server with open sessions accepts no more, it is not dead. */
  const alive = new Map<string, number>();

  const count = (address: string, change: 1 | -1): void => {
    const sessions = (alive.get(address) ?? 0) + change;
    if (sessions === 0) alive.delete(address);
    else alive.set(address, sessions);
  };

  const note = (address: string, error: unknown): void => {
    if (!(error instanceof SmtpConnectFailed)) return;
    greetingTimeouts.failed(address, error);
    if (isDead(error) && !alive.has(address)) unreachable.add(address, error);
  };

  const open = async (
    deliveryTarget: DeliveryTarget,
    address: string,
    signal: AbortSignal,
    onEnd: () => void,
  ): Promise<SmtpSession> => {
    let isOpened = false;
    const end = (): void => {
      if (isOpened) count(address, -1);
      onEnd();
    };
    const common = {
      target: deliveryTarget.target,
      ehloName,
      connectMs,
      greetingMs: greetingTimeouts.msOf(address),
      onEnd: end,
    };
    const session = await openSmtpSession({ ...common, ...(tls && { tls }) }, signal);
    isOpened = true;
    count(address, 1);
    return session;
  };

  /** @throws {SmtpConnectFailed} at once, if the address failed very recently. */
  return async (deliveryTarget: DeliveryTarget, signal: AbortSignal, onEnd: () => void): Promise<SmtpSession> => {
    const { address = deliveryTarget.target.host } = deliveryTarget.target;
    const failed = unreachable.justFailed(address);
    if (failed !== null) throw new SmtpConnectFailed(failed.reply);
    try {
      const session = await open(deliveryTarget, address, signal, onEnd);
      unreachable.answers(address);
      return session;
    } catch (error) {
      if (!signal.aborted) note(address, error); // otherwise it had no time to answer
      throw error;
    }
  };
};

export interface DirectTransportOptions {
  readonly routes: MxRoutes;
  readonly resolver: Resolver;
  readonly security: TransportSecurity;
  readonly system: System;
  readonly logger: Pick<Logger, 'error'>;
  readonly ehloName: string;
  /** IPs to send from, chosen by the recipient's domain. Empty: the machine chooses. */
  readonly sourceAddresses: readonly string[];
  /** Servers on this machine and in private networks are allowed too. */
  readonly allowPrivate: boolean;
  /** Port of all mail servers. */
  readonly port: number;
  /** Sessions with all servers together. */
  readonly sessionsMax?: number;
  readonly sessionsPerServerMax?: number;
  readonly sessionsPerAddressMax?: number;
  /** Time-out for the connection. */
  readonly connectMs?: number;
  /** Default: `connectMs`, or else `GREETING_TIMEOUTS`. */
  readonly greeting?: GreetingTimeouts;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
}

/**
 * Sessions, each a socket and some 50 kB while in use. With fewer than the destinations active at a time, each message
 * opens a session after ending the one that the next would have used; slow ones keep theirs for long.
 */
const SESSIONS_MAX = 2000;
/** No server wants more from one address. The delivery queue learns the limit of each destination. */
const SESSIONS_PER_SERVER_MAX = 20;
/**
 * Any domain can have names that lead to another provider's server, which counts all of its sessions with us. Fewer
 * make mail for one name wait for that of others.
 */
const SESSIONS_PER_ADDRESS_MAX = 40;
/** A dead server must leave time for the next one of its domain. */
const CONNECT_MS = 30_000;

const greetingOf = ({ greeting, connectMs }: DirectTransportOptions): GreetingTimeouts => {
  if (greeting !== undefined) return greeting;
  return connectMs === undefined ? GREETING_TIMEOUTS : { firstMs: connectMs, againMs: connectMs };
};

/** Splits the mail by the domains of its recipients. */
const byDomain = (mail: OutgoingMail): readonly (readonly [domain: string, mail: OutgoingMail])[] => {
  const groups = Map.groupBy(mail.envelope.to, ({ address }) => domainOf(address));
  return [...groups].map(([domain, recipients]) => [
    domain,
    { ...mail, envelope: { ...mail.envelope, to: recipients } },
  ]);
};

const OUR_FAULT: NoRoute = { outcome: 'deferred', enhanced: null, text: 'a fault of this service: it is tried again' };

/** Sends mail to the recipients' own servers, over sessions that are kept open. */
export const createDirectTransport = (options: DirectTransportOptions): PooledTransport => {
  const { system, ehloName, port, connectMs = CONNECT_MS, tls } = options;
  const messages = createOutgoingMessages(system);
  const unreachable = createUnreachableAddresses(system);

  const pools = createSessionPools({
    open: createOpenSession({ unreachable, ehloName, connectMs, greeting: greetingOf(options), ...(tls && { tls }) }),
    sessionsMax: options.sessionsMax ?? SESSIONS_MAX,
    sessionsPerServerMax: options.sessionsPerServerMax ?? SESSIONS_PER_SERVER_MAX,
    sessionsPerAddressMax: options.sessionsPerAddressMax ?? SESSIONS_PER_ADDRESS_MAX,
  });
  const addressesOf = createMxAddresses(options);
  const sourceOf = createSourceAddresses(options.sourceAddresses);
  const deliveryTargetsOf = createDeliveryTargets({
    addressesOf,
    security: options.security,
    sourceOf,
    unreachable,
    port,
  });
  const keepUnlessFinal = createOwnHostWatch(options);
  const deliver = createDeliverToDomain({ routes: options.routes, deliveryTargetsOf, pools });

  const deliverAll = async (ready: ReadyMail): Promise<readonly RecipientOutcome[]> => {
    const parts = byDomain(ready.mail);
    const results = await Promise.allSettled(parts.map(([domain, mail]) => deliver(domain, { ...ready, mail })));
    const fault = results.find((result) => result.status === 'rejected');
    if (results.every((result) => result.status === 'rejected')) throw fault?.reason;
    // A fault with one domain must not lose the outcomes of another: copies have been sent.
    const told = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    return inOrder(ready.mail, [...noRouteOutcomes(ready.mail, OUR_FAULT, null), ...told.map(keepUnlessFinal)]);
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
