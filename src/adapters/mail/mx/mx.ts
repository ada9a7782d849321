import type { ConnectionOptions } from 'node:tls';
import type { SourcePools } from '../../../domain/message/source-pools.ts';
import type { OutgoingMail, RecipientOutcome, SourceQuotas } from '../../../domain/ports/mail.ts';
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
import { createOutgoingMessages } from '../compose.ts';
import { inOrder } from '../outcomes.ts';
import { createDeadline, type ReadyMail } from '../send.ts';
import type { PooledTransport } from '../smarthost.ts';
import { createDeliverToDomain, type NoRoute, noRouteOutcomes } from './deliver-to-domain.ts';
import {
  createDeliveryTargets,
  createSourceAddresses,
  createUnreachableAddresses,
  peerOf,
  type UnreachableAddresses,
} from './delivery-targets.ts';
import { createMxAddresses, type MxRoutes } from './routes.ts';
import { createSessionPools, type DeliveryTarget } from './session-pools.ts';

interface OpenSessionOptions {
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
const createOpenSession = ({ unreachable, ehloName, connectMs, greeting, tls }: OpenSessionOptions) => {
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
    const peer = peerOf(deliveryTarget.target);
    const failed = unreachable.justFailed(peer);
    if (failed !== null) throw new SmtpConnectFailed(failed.reply);
    try {
      const session = await open(deliveryTarget, peer, signal, onEnd);
      unreachable.answers(peer);
      return session;
    } catch (error) {
      if (!signal.aborted) note(peer, error); // otherwise it had no time to answer
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
  /** IPs for the mail of some senders, instead of `sourceAddresses`. Absent: none. */
  readonly sourcePools?: SourcePools | undefined;
  /** Quotas of the source addresses that are warming up. Absent: none is. */
  readonly sourceQuotas?: SourceQuotas | undefined;
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
  const { sourceAddresses: addresses, sourcePools = new Map(), sourceQuotas: quotas } = options;
  const sourcesOf = createSourceAddresses({ addresses, pools: sourcePools, quotas });
  const deliveryTargetsOf = createDeliveryTargets({
    addressesOf,
    security: options.security,
    sourcesOf,
    quotas,
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

/**
 * Permanent rejections about this machine: its address, its reverse name, its EHLO name. They are about neither a
 * recipient nor a message, so mail waits while the operator fixes the cause. A rejection that does not clearly say so
 * stays a bounce: a false alarm would retry hopeless mail for days.
 */

/** Problems that mail servers report about this machine. */
type OwnHostProblem = 'listed' | 'reverse_name' | 'ehlo_name' | 'blocked';

/** Remedies for the operator. */
const OWN_HOST_REMEDIES: Readonly<Record<OwnHostProblem, string>> = {
  listed: 'a block list has the address of this machine: have it taken off the list, or set SOURCE_ADDRESSES to others',
  reverse_name:
    'the address of this machine has no reverse name (PTR) that leads back to it: have its provider set one',
  ehlo_name: 'EHLO_NAME is not accepted: set it to a public name that leads to the address of this machine',
  blocked: 'the address of this machine is blocked: ask the postmaster there, or set SOURCE_ADDRESSES to others',
};

interface OwnHostWords {
  readonly problem: OwnHostProblem;
  readonly words: RegExp;
  /**
   * The same words may describe the message's content (a listed link), so they count only before the content is sent.
   */
  readonly early?: true;
}

/** The first match counts. Postfix rejects problems of the client or its EHLO at RCPT (`smtpd_delay_reject`). */
const WORDS: readonly OwnHostWords[] = [
  // Postfix: 554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org. Exchange Online too.
  { problem: 'listed', words: /client host \S{1,300} (?:is )?blocked (?:using|by|with)\b/i },
  // Exim: 550 rejected because 192.0.2.1 is in a black list at zen.spamhaus.org
  { problem: 'listed', words: /[\da-f.:]{3,45}\]? is in an? (?:black|block|dns|rbl)/i, early: true },
  // Sendmail: 550 5.7.1 Rejected: 192.0.2.1 listed at zen.spamhaus.org
  { problem: 'listed', words: /rejected: \[?[\da-f.:]{3,45}\]? (?:is )?listed (?:at|in|on|by)\b/i, early: true },
  // Sendmail: 550 5.7.1 Mail from 192.0.2.1 refused by blackhole site zen.spamhaus.org
  { problem: 'listed', words: /mail from \S{1,300} refused by blackhole site/i },
  // Gmail: 550-5.7.25 [192.0.2.1] The IP address sending this message does not have a PTR record setup
  { problem: 'reverse_name', words: /ip address sending this message does not have a ptr record|bad dns ptr/i },
  // Postfix: 550 5.7.25 Client host rejected: cannot find your reverse hostname, [192.0.2.1]
  { problem: 'reverse_name', words: /client host rejected: cannot find your (?:reverse )?hostname/i },
  // Sendmail: 550 5.7.1 Fix reverse DNS for 192.0.2.1
  { problem: 'reverse_name', words: /fix (?:your )?reverse dns for \[?[\da-f.:]{3,45}/i },
  // Postfix: 550 5.7.1 <x>: Helo command rejected: Host not found
  { problem: 'ehlo_name', words: /\bhelo command \S{0,300} ?(?:rejected|blocked)/i },
  // Outlook.com: 550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. … network is on our block list (S3140)
  { problem: 'blocked', words: /messages from \[[\da-f.:]{3,45}\] weren['’]t sent/i },
  // Exchange Online: 550 5.7.606 Access denied, banned sending IP [192.0.2.1]
  { problem: 'blocked', words: /access denied, banned sending ip/i },
  // Yahoo: 553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1
  { problem: 'blocked', words: /connections will not be accepted from \[?[\da-f.:]{3,45}/i },
  // Postfix: 554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied
  { problem: 'blocked', words: /client host rejected: access denied/i },
  // Gmail: 550-5.7.1 [192.0.2.1] The IP you're using to send mail is not authorized to send email directly to our servers
  { problem: 'blocked', words: /the ip you['’]re using to send mail is not authorized/i },
];

/** RFC 7372 §3: reverse DNS of the client. Not X.7.26, since SPF, DKIM and DMARC are about the sending domain. */
const NO_REVERSE_NAME = /^5\.7\.25$/;
/** Exchange Online's lists of addresses (learn.microsoft.com, Email non-delivery reports). */
const BANNED_ADDRESS = /^5\.7\.(?:60[6-9]|6[1-4]\d)$/;

const byCode = (enhanced: string): OwnHostProblem | null => {
  if (NO_REVERSE_NAME.test(enhanced)) return 'reverse_name';
  return BANNED_ADDRESS.test(enhanced) ? 'blocked' : null;
};

/** The problem with this machine that caused a permanent rejection; null if there is no clear one. */
export const ownHostProblem = ({ code, enhanced, text, stage }: RecipientOutcome): OwnHostProblem | null => {
  if (code < 500) return null;
  const said = WORDS.find(({ words, early }) => words.test(text) && (early !== true || stage !== 'content'));
  return said?.problem ?? byCode(enhanced ?? '');
};

/** Shorter repeats known problems in the log, longer lets them be overlooked. */
const AGAIN_MS = 600_000;

interface OwnHostWatchOptions {
  readonly system: Pick<System, 'monotonicMs'>;
  readonly logger: Pick<Logger, 'error'>;
}

/** Defers mail that is rejected because of this machine, and reports the problem in the log. */
const createOwnHostWatch = ({ system, logger }: OwnHostWatchOptions) => {
  const toldMs = new Map<string, number>();

  const tell = (problem: OwnHostProblem, { mx, code, enhanced, source }: RecipientOutcome): void => {
    const known = `${problem} ${source ?? ''}`;
    const nowMs = system.monotonicMs();
    if (nowMs - (toldMs.get(known) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
    toldMs.set(known, nowMs);
    logger.error(
      { mx, code, enhanced, ...(source !== undefined && { source }) },
      `mail waits because mail servers reject this machine: ${OWN_HOST_REMEDIES[problem]}`,
    );
  };

  return (outcome: RecipientOutcome): RecipientOutcome => {
    const problem = outcome.outcome === 'bounced' ? ownHostProblem(outcome) : null;
    if (problem === null) return outcome;
    tell(problem, outcome);
    return { ...outcome, outcome: 'deferred' };
  };
};
