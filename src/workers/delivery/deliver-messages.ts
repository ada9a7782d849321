import { retry } from '../../async/retry.ts';
import { createSemaphore } from '../../async/semaphore.ts';
import { pause } from '../../async/with-timeout.ts';
import type { SuspendDestination } from '../../domain/destination/destination.ts';
import type { JobHandler } from '../../domain/ports/queue.ts';
import { createUnrecordedOutcomes } from './claim-fence.ts';
import { type Attempted, attemptMessage, type DeliverMessageParts, recordOutcome } from './deliver-message.ts';
import type { DeliveryJob, Due, Stream } from './delivery-job.ts';
import { createDepartures, type Departed, type Departures } from './departures.ts';
import type { Destinations } from './destinations.ts';
import { linesTo } from './lines.ts';
import type { Pacer } from './pacer.ts';

export interface DeliverMessagesParts extends DeliverMessageParts {
  /** Absent: one server takes everything. */
  readonly destinations?: Destinations | undefined;
  readonly pacer: Omit<Pacer, 'apply'>;
  /** Puts on record that a destination gets nothing for a while. */
  suspend(suspension: SuspendDestination): Promise<void>;
}

export interface DeliverMessages {
  handlerOf(stream: Stream): JobHandler<DeliveryJob>;
  sated: Departures['sated'];
  /** A destination may get more than before. */
  wake(operator: string): void;
  /** Ends what is in hand: at once after some seconds. */
  close(): Promise<void>;
}

/**
 * Bodies and attachments of the messages being sent; encoded for the wire they take two to three times as much memory.
 * More could exhaust it when many large messages come together, less sends large ones one by one.
 */
const IN_HAND_BYTES_MAX = 64_000_000;
/** When stopping: what is being sent may go on for so long before it is cut off. */
const STOP_GRACE_MS = 5000;
/** And so long until it is left to its lease. A stop has 10 s in all. */
const STOP_MAX_MS = 8000;

/** Which line an attempt has left, and when, in ms that never run backwards. */
interface Left {
  readonly operator: string;
  readonly beganMs: number;
}

/** Begun by nobody when the queue closed: the job goes back for them. */
class NotBegun extends Error {
  override readonly name = 'NotBegun';
}

/** Works what the queues and the timetable bring. A message that fails fails alone: the timetable still has it. */
export const createDeliverMessages = (parts: DeliverMessagesParts): DeliverMessages => {
  const { system, logger, destinations, pacer } = parts;
  const deps = {
    ...parts,
    bytesInHand: createSemaphore({ capacity: IN_HAND_BYTES_MAX }),
    unrecorded: createUnrecordedOutcomes(system),
  };
  const cutOff = new AbortController();

  const leftToSweeper = (err: unknown): void => logger.error({ err }, 'a message was left to the sweeper');

  const notePace = async (due: Due, left: Left, { reported, tookMs }: Attempted): Promise<void> => {
    const { destination, isExpired } = due;
    if (destination === null || isExpired === true) return; // the line that it left is nobody's
    const suspensions = pacer.report({ ...left, domain: destination, outcomes: reported.outcomes, tookMs });
    await Promise.all(suspensions.map((each) => retry(system, () => parts.suspend(each))));
  };

  /** The place in hand is free before the outcome is on record: that is the log's turn. */
  const depart = async (due: Due, operator: string): Promise<Departed> => {
    const left = { operator, beganMs: system.monotonicMs() };
    try {
      const attempted = await attemptMessage(deps, due, cutOff.signal);
      if (attempted === null) return { recorded: Promise.resolve() };
      // The message counts as recorded once its outcome is, whatever becomes of the suspension.
      const noted = notePace(due, left, attempted).catch(leftToSweeper);
      const recorded = Promise.all([recordOutcome(deps, attempted), noted]).then(() => undefined, leftToSweeper);
      return { recorded };
    } catch (error) {
      leftToSweeper(error);
      return { recorded: Promise.resolve() };
    }
  };

  const lines = linesTo(destinations, pacer);
  const departures = createDepartures({ ...lines, depart, system });

  const add = async (due: Due, stream: Stream): Promise<boolean> =>
    departures.add(due, { operator: await lines.of(due), stream });

  const handlerOf =
    (stream: Stream): JobHandler<DeliveryJob> =>
    async ({ due }, signal) => {
      const ended = Promise.all(due.map((one) => add(one, stream)));
      if (!lines.areInQueue) return;
      const begun = await ended;
      if (signal.aborted && begun.includes(false)) throw new NotBegun('the queue is closing');
    };

  return {
    handlerOf,
    sated: departures.sated,
    wake: departures.wake,
    close: async () => {
      const over = new AbortController();
      const ended = departures.close();
      const limit = async (): Promise<void> => {
        await pause(system, STOP_GRACE_MS, over.signal);
        cutOff.abort();
        await pause(system, STOP_MAX_MS - STOP_GRACE_MS, over.signal);
      };
      await Promise.race([ended, limit()]);
      over.abort();
    },
  };
};
