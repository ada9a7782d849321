import { inTime } from '../../domain/in-time.ts';
import { QueueUnavailable } from '../../domain/ports/queue.ts';
import type { System } from '../../domain/ports/system.ts';

/**
 * The promise's own outcome, or a refusal when it has none after `ms`. What it does later is ignored.
 * @throws {QueueUnavailable} with the cause, whatever went wrong.
 */
export const within = async <T>(system: System, ms: number, what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await inTime(system, ms, work(), () => new Error(`no answer within ${ms} ms`));
  } catch (cause) {
    throw new QueueUnavailable(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
};
