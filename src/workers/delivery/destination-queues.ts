import { LRUCache } from 'lru-cache';
import type { SuspendDestination } from '../../domain/destination/suspension.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { JobHandler } from '../../domain/ports/queue.ts';
import { createKeyedQueue, createSemaphore, type KeyLimits, pause, type Ran, retry } from '../../lib/async/async.ts';
import { mailFlowOf, mailFlowsOf } from '../../projections/deliveries/queries.ts';
import { type DeliverParts, type DeliveryAttempt, deliver } from './deliver.ts';
import type { DestinationLimits } from './destination-limits.ts';
import { type DeliveryJob, type Destinations, type DueMail, keyOf, MESSAGE_CLASSES, type MessageClass } from './due.ts';
import { createUnrecordedOutcomes, recordOutcome } from './record.ts';

/**
 * Puts what is due into a queue per destination (the MX set of a mailbox provider, or the one server for everything) and
 * runs `deliver` on it. A job of the shared queue ends at once: organizations take turns here, not there. Nothing that
 * waits is claimed: the timetable still has it, and so a message that fails, fails alone.
 */
export interface DestinationQueues {
  handlerOf(messageClass: MessageClass): JobHandler<DeliveryJob>;
  /** Mail flows that the sweep may skip: enough of theirs waits here already, or was refused a moment ago. */
  saturated(messageClass: MessageClass): readonly string[];
  /** Applies a destination's limits again. */
  review(destination: string): void;
  /** Ends what is under way, and cuts it off after some seconds. */
  close(): Promise<void>;
}

export interface DestinationQueuesParts extends DeliverParts {
  /** Absent: one server takes everything. */
  readonly destinations?: Destinations | undefined;
  readonly destinationLimits: Omit<DestinationLimits, 'apply'>;
  /** Records that a destination gets nothing for a while. */
  suspend(suspension: SuspendDestination): Promise<void>;
}

/**
 * Bodies and attachments of the large messages under way; encoded for the wire they take two to three times as much memory.
 * More could exhaust it when many large messages come together, less sends large ones one by one.
 */
const LARGE_BYTES_MAX = 64_000_000;
/** More: servers that hang on large messages of one organization delay those of others. Less: it sends them one by one. */
const LARGE_BYTES_PER_ORGANIZATION_MAX = 32_000_000;
/** The same for messages of ordinary size, which wait for no large one. */
const SMALL_BYTES_MAX = 32_000_000;
const SMALL_BYTES_PER_ORGANIZATION_MAX = 16_000_000;
/** Higher: large messages delay small ones. Lower: ordinary html mail waits with the large ones. */
const SMALL_MESSAGE_BYTES_MAX = 256_000;
/** A stop lets what is being sent go on for this long before it is cut off. */
const STOP_GRACE_MS = 5000;
/** And leaves it to its lease after this long. A stop has 10 s in all. */
const STOP_MAX_MS = 8000;

/**
 * Messages between claim and answer at the same time. A claim's lease runs while it waits for one of the transport's
 * sessions: more wait longer, fewer leave sessions idle and processors waiting for commits. A slow local server that takes
 * 20 a second must answer all of them within an attempt's 10 s.
 */
const CONCURRENCY = 192;
/**
 * More: a server that hangs on what one organization sends delays the mail of others. Fewer: a lone organization's mail
 * leaves later than it is accepted.
 */
const CONCURRENCY_OF_ONE_PER_ORGANIZATION = 96;
/** With servers of their own, most destinations wait for answers most of the time. */
const CONCURRENCY_OF_MANY = 1_000;
/** More: servers that hang, of one organization's recipients, delay the mail of others. Fewer: a large list takes longer. */
const CONCURRENCY_PER_ORGANIZATION = 500;
/** Per destination: more would hold ids that the timetable has anyway, fewer leave a fast one waiting for the next sweep. */
const WAITING_MAX = 256;
/** For a single server, 5 MB of ids: what it takes in `REFUSED_MS`. */
const WAITING_MAX_OF_ONE = 10_000;
/** Saturation threshold. Higher: useless polling. Lower: fast destinations starve until the next sweep. */
const SATURATED_WAITING = 20;
const SATURATED_WAITING_OF_ONE = 2_000;
/** A refused mail flow is skipped for this long: mail that may go on, and notices of expiry, are this late. */
const REFUSED_MS = 4_000;
/** Mail flows; about 3 MB. One that is forgotten is offered, and refused, again. */
const REFUSED_MAX = 20_000;

/** Key of mail for a single server, of simulated mail, and of expired mail, which is not sent. */
const ANY = 'any';

const limitsOf = (limits: KeyLimits, isOneServer: boolean): KeyLimits =>
  isOneServer
    ? {
        concurrencyOf: () => CONCURRENCY,
        waitMsOf: () => 0,
        capacityOf: () => WAITING_MAX_OF_ONE,
        started: () => undefined,
      }
    : {
        concurrencyOf: (key) => (key === ANY ? CONCURRENCY : limits.concurrencyOf(key)),
        waitMsOf: limits.waitMsOf,
        capacityOf: (key) => Math.min(WAITING_MAX, limits.capacityOf(key)),
        started: limits.started,
      };

/** Mail flows that were refused a moment ago. */
const createRefused = (monotonicMs: () => number) => {
  /** Until when, in the order in which they were refused. */
  const flows = new LRUCache<string, number>({ max: REFUSED_MAX });
  return {
    add: (flow: string): void => void flows.set(flow, monotonicMs() + REFUSED_MS),
    list: (): readonly string[] => {
      const nowMs = monotonicMs();
      for (const flow of flows.rkeys()) {
        if ((flows.peek(flow) ?? 0) > nowMs) break;
        flows.delete(flow);
      }
      return [...flows.keys()];
    },
  };
};

export const createDestinationQueues = (parts: DestinationQueuesParts): DestinationQueues => {
  const { system, logger, destinations, destinationLimits } = parts;
  const isOneServer = destinations === undefined;
  const large = createSemaphore({ capacity: LARGE_BYTES_MAX, share: LARGE_BYTES_PER_ORGANIZATION_MAX });
  const small = createSemaphore({ capacity: SMALL_BYTES_MAX, share: SMALL_BYTES_PER_ORGANIZATION_MAX });
  const ending = new AbortController();
  const deps = {
    ...parts,
    ending: ending.signal,
    bytesInFlight: (sizeBytes: number) => (sizeBytes > SMALL_MESSAGE_BYTES_MAX ? large : small),
    unrecorded: createUnrecordedOutcomes(system),
  };
  const refused = { transactional: createRefused(system.monotonicMs), bulk: createRefused(system.monotonicMs) };
  const cutOff = new AbortController();

  const leaveToSweep = (err: unknown): void => logger.error({ err }, 'cannot queue a message: the sweep will retry it');

  const noteLimits = async (
    due: DueMail,
    provider: string,
    beganMs: number,
    attempted: DeliveryAttempt,
  ): Promise<void> => {
    if (due.destination === null || due.isExpired === true) return;
    const { domainId } = attempted.claim.message.state.accepted;
    const { organizationId } = attempted.claim.message.state;
    const suspensions = destinationLimits.report({
      sender: { domainId, organizationId },
      provider,
      beganMs,
      domain: due.destination,
      outcomes: attempted.outcomes,
      tookMs: attempted.tookMs,
    });
    await Promise.all(suspensions.map((each) => retry(system, () => parts.suspend(each))));
  };

  /** The destination's slot is free before the outcome is recorded: that is the log's turn. */
  const run = async (due: DueMail, provider: string): Promise<Ran> => {
    const beganMs = system.monotonicMs();
    try {
      const isKeptBack = ({ accepted }: ExistingMessage): boolean =>
        due.destination !== null && destinationLimits.isSuspendedFor(provider, accepted.domainId);
      const attempted = await deliver({ ...deps, isKeptBack }, due, cutOff.signal);
      if (attempted === null) return { done: Promise.resolve() };
      // The message is recorded once its outcome is, even if the suspension cannot be.
      const noted = noteLimits(due, provider, beganMs, attempted).catch(leaveToSweep);
      const recorded = recordOutcome(deps, attempted);
      return { done: Promise.all([recorded, noted]).then(() => undefined, leaveToSweep) };
    } catch (error) {
      leaveToSweep(error);
      return { done: Promise.resolve() };
    }
  };

  const flowsOf = ({ destination, organizationId }: DueMail): readonly string[] => {
    if (isOneServer) return [mailFlowsOf(organizationId)];
    return destination === null ? [] : [mailFlowOf({ destination, organizationId })];
  };

  const queue = createKeyedQueue<DueMail, MessageClass>({
    ...limitsOf(destinationLimits, isOneServer),
    priorities: MESSAGE_CLASSES,
    concurrency: isOneServer ? CONCURRENCY : CONCURRENCY_OF_MANY,
    ownerOf: ({ organizationId = '' }) => organizationId,
    ownerConcurrency: isOneServer ? CONCURRENCY_OF_ONE_PER_ORGANIZATION : CONCURRENCY_PER_ORGANIZATION,
    idOf: keyOf,
    run,
    onRefused: (due, messageClass) => {
      for (const flow of flowsOf(due)) refused[messageClass].add(flow);
    },
    system,
  });

  const destinationOf = ({ destination, isExpired }: DueMail): Promise<string> | string =>
    destinations === undefined || destination === null || isExpired === true
      ? ANY
      : destinationLimits.destinationOf(destination, destinations);

  const add = async (due: DueMail, messageClass: MessageClass): Promise<boolean> =>
    queue.add(due, await destinationOf(due), messageClass);

  return {
    handlerOf:
      (messageClass) =>
      async ({ due }) => {
        for (const one of due) void add(one, messageClass);
      },
    saturated: (messageClass) => {
      const enough = isOneServer ? SATURATED_WAITING_OF_ONE : SATURATED_WAITING;
      const waiting = queue.heads(messageClass, enough).flatMap(flowsOf);
      return [...new Set([...waiting, ...refused[messageClass].list()])];
    },
    review: queue.review,
    close: async () => {
      const ended = queue.close();
      const limit = async (): Promise<void> => {
        await pause(system, STOP_GRACE_MS, ending.signal);
        cutOff.abort();
        await pause(system, STOP_MAX_MS - STOP_GRACE_MS, ending.signal);
      };
      await Promise.race([ended, limit()]);
      ending.abort();
    },
  };
};
