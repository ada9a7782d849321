import { withTimeout } from '../../async/with-timeout.ts';
import { QueueUnavailable } from '../../domain/ports/queue.ts';
import type { System } from '../../domain/ports/system.ts';

/**
 * Waits for an answer for `ms`; what the call does later is ignored.
 * @throws {QueueUnavailable} with the cause, whatever went wrong.
 */
export const answerWithin = async <T>(system: System, ms: number, what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await withTimeout({ system, ms }, work());
  } catch (cause) {
    throw new QueueUnavailable(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
};
