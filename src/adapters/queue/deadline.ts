import { QueueUnavailable } from '../../domain/queue.ts';
import type { System } from '../../domain/system.ts';

/**
 * The promise's own outcome, or a refusal when it has none after `ms`. What it does later is ignored.
 * @throws {QueueUnavailable} with the cause, whatever went wrong.
 */
export const within = async <T>(system: System, ms: number, what: string, work: () => Promise<T>): Promise<T> => {
  const timer = new AbortController();
  const late = async (): Promise<never> => {
    await system.sleep(ms, timer.signal);
    throw new Error(`no answer within ${ms} ms`);
  };
  try {
    return await Promise.race([work(), late()]);
  } catch (cause) {
    throw new QueueUnavailable(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  } finally {
    timer.abort();
  }
};
