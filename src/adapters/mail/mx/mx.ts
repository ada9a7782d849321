import type { ConnectionOptions } from 'node:tls';
import type { OutgoingMail, RecipientOutcome } from '../../../domain/ports/mail-transport.ts';
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

/** It took no connection, or said nothing on it; what fails after TLS is about who it is. */
const isDead = ({ peer, reply, isAboutTls }: SmtpConnectFailed): boolean =>
  peer !== null && reply.code === 0 && !isAboutTls;

/** Opens sessions, and remembers who did not answer. */
export const createOpenSession = ({ unreachable, ehloName, connectMs, greeting, tls }: OpenSessionOptions) => {
  const greetingTimeouts = createGreetingTimeouts(greeting);
  /** Sessions by address: a server that has some takes no more of them, and is not dead. */
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

  /** @throws {SmtpConnectFailed} at once, where it has failed a moment ago. */
  return async (deliveryTarget: DeliveryTarget, signal: AbortSignal, onEnd: () => void): Promise<SmtpSession> => {
    const { address = deliveryTarget.target.host } = deliveryTarget.target;
    const failed = unreachable.justFailed(address);
    if (failed !== null) throw new SmtpConnectFailed(failed.reply);
    try {
      const session = await open(deliveryTarget, address, signal, onEnd);
      unreachable.answers(address);
      return session;
    } catch (error) {
      if (!signal.aborted) note(address, error); // else there was no time to answer
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
  /** Default: `connectMs`, or else `GREETING_TIMEOUTS`. */
  readonly greeting?: GreetingTimeouts;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
}

/**
 * Each is a socket and some 50 kB while it is in use. Fewer than there are destinations at a time and each message makes a
 * session of its own, having ended the one that the next would have used; slow ones keep theirs for long.
 */
const SESSIONS_MAX = 2000;
/** No server wants more from one address; the delivery queue learns the limit of each destination. */
const SESSIONS_PER_SERVER_MAX = 20;
/** Anybody can have names that lead to somebody else's server, which counts all of its sessions with us. Fewer make those of one name wait for others'. */
const SESSIONS_PER_ADDRESS_MAX = 40;
/** A dead server must leave time for the next of its domain. */
const CONNECT_MS = 30_000;

const greetingOf = ({ greeting, connectMs }: DirectTransportOptions): GreetingTimeouts => {
  if (greeting !== undefined) return greeting;
  return connectMs === undefined ? GREETING_TIMEOUTS : { firstMs: connectMs, againMs: connectMs };
};

/** The same mail, once for each domain of its recipients. */
const byDomain = (mail: OutgoingMail): readonly (readonly [domain: string, mail: OutgoingMail])[] => {
  const groups = Map.groupBy(mail.envelope.to, ({ address }) => domainOf(address));
  return [...groups].map(([domain, recipients]) => [
    domain,
    { ...mail, envelope: { ...mail.envelope, to: recipients } },
  ]);
};

const OUR_FAULT: NoRoute = { outcome: 'deferred', enhanced: null, text: 'a fault of this service: it is tried again' };

/** Sends mail to the recipients' own servers, over sessions that are kept. */
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
    // What the servers of one domain said is not lost for a fault with another: copies are out.
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
