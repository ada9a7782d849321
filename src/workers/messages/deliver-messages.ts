import type { JobHandler } from '../../domain/queue.ts';
import type { System } from '../../domain/system.ts';
import { createGate } from '../gate.ts';
import { pause } from '../keep-running.ts';
import { attemptMessage, type DeliverMessageParts, recordOutcome } from './deliver-message.ts';
import type { DeliveryJob } from './delivery-job.ts';

/**
 * Messages between claim and answer at the same time. A claim's lease runs while it waits for one of the transport's
 * sessions: more wait longer, fewer leave sessions idle and processors waiting for commits. So many leave
 * as quickly as they are accepted, and read models write their rows once.
 */
const IN_HAND_MAX = 128;
/**
 * Bodies and attachments of the messages being sent; encoded for the wire they take two to three times as much memory.
 * More could exhaust it when many large messages come together, less sends large ones one by one.
 */
const IN_HAND_BYTES_MAX = 64_000_000;
/** When stopping: what is being sent may go on for so long before it is cut off. The queue gives up after 8 s. */
const STOP_GRACE_MS = 5000;

/** Aborts some time after `signal` does. */
const graceAfter = (system: System, signal: AbortSignal): { readonly cutOff: AbortSignal; end(): void } => {
  const cutOff = new AbortController();
  const over = new AbortController();
  const cutOffLater = async (): Promise<void> => {
    await pause(system, STOP_GRACE_MS, over.signal);
    if (!over.signal.aborted) cutOff.abort();
  };
  const begin = (): void => void cutOffLater();
  signal.addEventListener('abort', begin, { once: true });
  return {
    cutOff: cutOff.signal,
    end: () => {
      over.abort();
      signal.removeEventListener('abort', begin);
    },
  };
};

/** Begun by nobody when the queue closed: the job goes back for them. */
class NotBegun extends Error {
  override readonly name = 'NotBegun';
}

/**
 * Works the messages of a batch at the same time, so that their reads, claims and outcomes share round trips and
 * commits. A message that fails fails alone: the timetable still has it.
 */
export const createDeliverMessages = (parts: DeliverMessageParts): JobHandler<DeliveryJob> => {
  const { system, logger } = parts;
  const slots = createGate(IN_HAND_MAX);
  const deps = { ...parts, bytesInHand: createGate(IN_HAND_BYTES_MAX) };

  return async ({ messageIds }, signal) => {
    const { cutOff, end } = graceAfter(system, signal);

    const deliver = async (messageId: string): Promise<void> => {
      const attempted = await slots.run(1, async () => {
        if (signal.aborted) throw new NotBegun('the queue is closing');
        return attemptMessage(deps, messageId, cutOff);
      });
      if (attempted !== null) await recordOutcome(deps, attempted);
    };

    const endings = await Promise.allSettled(messageIds.map(deliver));
    end();
    const faults = endings.flatMap((ending): unknown[] => (ending.status === 'rejected' ? [ending.reason] : []));
    if (faults.some((fault) => fault instanceof NotBegun)) throw new NotBegun('the queue is closing');
    if (faults.length > 0) {
      logger.error({ count: faults.length, err: faults[0] }, 'messages of a batch were left to the sweeper');
    }
  };
};
