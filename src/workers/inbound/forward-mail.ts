import {
  claimForward,
  deferForward,
  failForward,
  findForwardTarget,
  type LoadedInbound,
  loadForward,
  recordForward,
} from '../../commands/inbound/forward.ts';
import type { ForwardFailure } from '../../domain/inbound/events.ts';
import {
  dueForward,
  type ForwardFacts,
  type ForwardOutcome,
  forwardRefusal,
  holdsForward,
} from '../../domain/inbound/forward.ts';
import { type ExistingInbound, INBOUND_TEST_DOMAIN } from '../../domain/inbound/inbound.ts';
import {
  forwardReturnAddress,
  isForwardReturnAddress,
  type ReturnSecrets,
} from '../../domain/inbound/return-address.ts';
import { localPartOf } from '../../domain/inbound/route.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { readReturnPath } from '../../domain/message/tokens.ts';
import { suspensionOf } from '../../domain/organization/organization.ts';
import type { Contents, InboundBody } from '../../domain/ports/contents.ts';
import type { ForwardedMail, ForwardedMails } from '../../domain/ports/inbound.ts';
import type { MailTransport, OutgoingMail, RecipientOutcome } from '../../domain/ports/mail.ts';
import { createSemaphore, type Logger, pause, retryBy, type System } from '../../lib/async/async.ts';
import { domainOf } from '../../lib/mime/mime.ts';
import type { AttemptTimes } from '../delivery/claim.ts';
import type { DestinationLimits } from '../delivery/destination-limits.ts';
import type { Destinations } from '../delivery/due.ts';
import { momentOf } from '../delivery/fence.ts';
import { smtpFactsOf } from '../delivery/record.ts';
import type { SendingDomains } from '../domains/sending-domains.ts';
import type { Organizations } from '../in-memory-projections.ts';
import type { Leadership, Work } from '../supervise.ts';
import { createForwardRates } from './forward-rates.ts';

/**
 * Forwards received mail by the transport of sent mail. The read model says what is due, and the stream of the message is
 * the claim: an attempt is recorded before it is made, and its outcome after. Failures are recorded and never
 * bounced: the mail stays stored.
 */
export interface ForwardMail {
  readonly store: EventStore;
  readonly contents: Pick<Contents, 'get' | 'heads' | 'put'>;
  readonly system: System;
  readonly logger: Logger;
  readonly times: AttemptTimes;
  readonly transports: Readonly<Record<Environment, MailTransport>>;
  readonly sendingDomains: Pick<SendingDomains, 'keysOf' | 'nameOf'>;
  readonly organizations: Organizations;
  /** Absent: one server takes all mail. */
  readonly destinations?: Destinations;
  readonly destinationLimits: Pick<
    DestinationLimits,
    'destinationOf' | 'concurrencyOf' | 'waitMsOf' | 'isSuspendedFor' | 'started'
  >;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly caughtUp: Promise<void>;
  readonly forwarding: {
    /** Ids of messages that are due, the oldest first. @param now ISO 8601. */
    due(now: string): Promise<readonly string[]>;
    readonly mails: ForwardedMails;
    /** Make and prove return addresses. */
    readonly secrets: ReturnSecrets;
  };
  /** Domain that receives bounces. Absent: they go to the address that received the mail. */
  readonly bounceDomain?: string | undefined;
}

/** Between looks. Longer delays forwarded mail, shorter costs queries. */
const LOOK_EVERY_MS = 1_000;
/** Bytes of mails in memory, each several times as large there. More: memory. Fewer: small mails wait for large ones. */
const BYTES_MAX = 60_000_000;
/** A small mail still costs a session. */
const BYTES_MIN = 1_000_000;
/** Time for attempts under way to end when the service stops. */
const STOP_GRACE_MS = 5_000;
const RECORD_WAIT_MS_MIN = 200;
const RECORD_WAIT_MS_MAX = 1_000;

/** A mail with what its attempt needs. */
interface Forwarding {
  readonly known: LoadedInbound;
  readonly address: string;
  readonly mail: ForwardedMail;
  /** Address that received the mail. */
  readonly to: string;
}

const isOwnSender = (from: string, bounceDomain: string | undefined): boolean => {
  const localPart = localPartOf(from);
  return (
    readReturnPath(localPart) !== null ||
    (bounceDomain !== undefined && domainOf(from) === bounceDomain && isForwardReturnAddress(localPart))
  );
};

const outcomeOf = (reply: RecipientOutcome): ForwardOutcome => {
  const smtp = smtpFactsOf(reply);
  switch (reply.outcome) {
    case 'delivered':
      return { outcome: 'forwarded', smtp };
    case 'bounced':
      return { outcome: 'failed', reason: 'rejected', smtp };
    case 'suppressed':
      return { outcome: 'failed', reason: 'suppressed', smtp };
    default:
      return { outcome: reply.outcome, smtp };
  }
};

const FAULT: ForwardOutcome = { outcome: 'fault', smtp: null };

export const forwardMail = (parts: ForwardMail): Work => {
  const { system, contents, logger, times, sendingDomains, organizations, bounceDomain, forwarding } = parts;
  const rates = createForwardRates(system);
  const bytes = createSemaphore({ capacity: BYTES_MAX, share: BYTES_MAX / 2 });
  const running = new Map<string, Promise<void>>();
  const cutOff = new AbortController();

  const refusalBefore = ({ organizationId, domainId }: ExistingInbound): ForwardFailure | null => {
    if (suspensionOf(organizations.get(organizationId)) !== null) return 'organization_suspended';
    return sendingDomains.nameOf(domainId) === null ? 'domain_removed' : null;
  };

  const isHeldBack = async (address: string, domainId: string): Promise<boolean> => {
    const { destinations, destinationLimits } = parts;
    if (destinations === undefined) return false;
    const destination = await destinationLimits.destinationOf(domainOf(address), destinations);
    const isPaused =
      destinationLimits.concurrencyOf(destination) === 0 ||
      destinationLimits.waitMsOf(destination) > 0 ||
      destinationLimits.isSuspendedFor(destination, domainId);
    if (!isPaused) destinationLimits.started(destination);
    return isPaused;
  };

  /** @returns why it cannot be forwarded, instead of the mail. */
  const loadMail = async (known: LoadedInbound): Promise<Omit<Forwarding, 'address'> | ForwardFailure> => {
    const { inboundId, rawId, contentId, domainId, verdicts, isAutomatic, isMarked } = known.state;
    const stored = await contents.get([rawId, contentId]);
    const [raw, read] = [stored.get(rawId), stored.get(contentId)];
    if (raw?.kind !== 'inbound_raw' || read?.kind !== 'inbound') return 'content_removed';
    const { envelope }: InboundBody = read;
    const mail: ForwardedMail = {
      inboundId,
      raw: Buffer.from(raw.content, 'base64'),
      from: envelope.from,
      verdicts,
      domain: sendingDomains.nameOf(domainId) ?? '',
      host: bounceDomain ?? INBOUND_TEST_DOMAIN,
    };
    const facts: ForwardFacts = {
      isAutomatic,
      isMarked,
      isOwnSender: isOwnSender(envelope.from, bounceDomain),
      ...(await forwarding.mails.inspect(mail)),
    };
    return forwardRefusal(facts) ?? { known, mail, to: envelope.to };
  };

  /** The null sender stays: a report that cannot be forwarded must not cause another. */
  const returnPathOf = ({ mail: { from, inboundId, domain }, to }: Forwarding): string => {
    if (from === '') return '';
    if (bounceDomain === undefined) return `${localPartOf(to)}@${domain}`;
    return `${forwardReturnAddress(forwarding.secrets, inboundId, system.now())}@${bounceDomain}`;
  };

  const composed = async (forward: Forwarding, attempt: number): Promise<OutgoingMail> => {
    const { mail, address, known } = forward;
    const { inboundId, organizationId, domainId, createdAt } = known.state;
    const keys = await sendingDomains.keysOf(domainId);
    const envelope = { from: returnPathOf(forward), to: [{ recipientId: inboundId, address }], id: inboundId };
    return {
      organizationId,
      envelope,
      messageId: `<${inboundId}@${mail.host}>`,
      source: await forwarding.mails.compose(mail, keys, system.now()),
      // Not sent: it names the domain by which addresses of this machine are chosen.
      body: {
        kind: 'message',
        messageId: inboundId,
        from: { address: `${localPartOf(forward.to)}@${mail.domain}` },
        recipients: [],
        replyTo: [],
        subject: '',
        headers: {},
        attachments: [],
        tags: [],
        metadata: {},
      },
      date: new Date(createdAt),
      attempt,
    };
  };

  /** Whether the attempt may end the message: it is in time by both clocks, and no other process has taken it. */
  const mayComplete = async (inboundId: string, attempt: number, begun: ReturnType<typeof momentOf>) => {
    const isInTime = (): boolean => {
      const now = momentOf(system);
      const elapsedMs = Math.max(now.monotonicMs - begun.monotonicMs, now.wallMs - begun.wallMs);
      return !cutOff.signal.aborted && elapsedMs < times.attemptMs;
    };
    if (!isInTime()) return false;
    const found = await loadForward(parts, inboundId).catch(() => null);
    return found !== null && holdsForward(found.state, attempt) && isInTime();
  };

  const send = async (
    forward: Forwarding,
    attempt: number,
    begun: ReturnType<typeof momentOf>,
  ): Promise<ForwardOutcome> => {
    const { inboundId, environment } = forward.known.state;
    try {
      const mail = await composed(forward, attempt);
      const [reply] = await parts.transports[environment ?? 'live'].send(mail, {
        deadlineMs: begun.monotonicMs + times.attemptMs,
        signal: cutOff.signal,
        mayComplete: () => mayComplete(inboundId, attempt, begun),
      });
      return reply === undefined ? FAULT : outcomeOf(reply);
    } catch (err) {
      logger.error({ inboundId, err }, 'could not forward a message: it will be retried');
      return FAULT;
    }
  };

  /** Tries until the lease has ended. What is never recorded is in doubt, and is sent again. */
  const record = (forward: Forwarding, attempt: number, reported: ForwardOutcome) =>
    retryBy(
      {
        system,
        waitMsMin: RECORD_WAIT_MS_MIN,
        waitMsMax: RECORD_WAIT_MS_MAX,
        isFinal: (_, __, elapsedMs) => elapsedMs >= times.leaseMs || cutOff.signal.aborted,
      },
      () => recordForward(parts, forward.known.state, { attempt, reported }),
    );

  const claimAndSend = async (forward: Forwarding): Promise<void> => {
    const { inboundId, organizationId } = forward.known.state;
    if (cutOff.signal.aborted) return;
    const begun = momentOf(system);
    const attempt = await claimForward(parts, forward.known, times.leaseMs);
    if (attempt === null) return;
    const reported = await send(forward, attempt, begun);
    await record(forward, attempt, reported);
    logger.info({ inboundId, organizationId, attempt, outcome: reported.outcome }, 'tried to forward a message');
  };

  const isOverRate = ({ state }: LoadedInbound): boolean => state.forward?.attempt === 0 && !rates.take(state);

  /** Finds the address and loads the mail. @returns why it is not forwarded, instead. */
  const prepare = async (known: LoadedInbound): Promise<Forwarding | ForwardFailure> => {
    const refused = refusalBefore(known.state);
    if (refused !== null) return refused;
    const target = await findForwardTarget(parts, known.state);
    if ('failure' in target) return target.failure;
    const mail = await loadMail(known);
    if (typeof mail === 'string') return mail;
    return isOverRate(known) ? 'rate_limited' : { ...mail, address: target.address };
  };

  /** Load, check, claim, send, record. */
  const forward = async (known: LoadedInbound): Promise<void> => {
    const prepared = await prepare(known);
    if (typeof prepared === 'string') return failForward(parts, known, prepared);
    if (await isHeldBack(prepared.address, known.state.domainId)) return deferForward(parts, known, 'deferred');
    return claimAndSend(prepared);
  };

  const forwardDue = async (inboundId: string): Promise<void> => {
    const known = await loadForward(parts, inboundId);
    const due = known && dueForward(known.state, system.now().toISOString());
    if (known === null || due === null) return;
    if (due.status === 'sending') {
      await claimForward(parts, known, times.leaseMs);
      return;
    }
    const weight = Math.max(BYTES_MIN, known.state.bytes);
    try {
      await bytes.run(() => forward(known), weight, known.state.organizationId);
    } catch (err) {
      logger.error({ inboundId, err }, 'could not forward a message: it will be retried');
      await deferForward(parts, known, 'fault');
    }
  };

  const start = (inboundId: string): void => {
    if (running.has(inboundId)) return;
    const work = forwardDue(inboundId)
      .catch((err: unknown) => logger.warn({ inboundId, err }, 'a message waits to be forwarded'))
      .finally(() => running.delete(inboundId));
    running.set(inboundId, work);
  };

  const startDue = async (): Promise<void> => {
    if (!parts.leadership.isLeader()) return;
    for (const inboundId of await forwarding.due(system.now().toISOString())) start(inboundId);
  };

  const stop = async (): Promise<void> => {
    const ended = new AbortController();
    const all = Promise.all(running.values()).then(() => ended.abort());
    await pause(system, STOP_GRACE_MS, ended.signal);
    cutOff.abort();
    await all;
  };

  return async (signal, working) => {
    await parts.caughtUp;
    while (!signal.aborted) {
      await startDue();
      working();
      await pause(system, LOOK_EVERY_MS, signal);
    }
    await stop();
  };
};
