import { createSemaphore, type Semaphore } from '../../async/semaphore.ts';
import { withTimeout } from '../../async/with-timeout.ts';
import type { System } from '../../domain/ports/system.ts';
import { NoAnswer } from './eventstoredb-faults.ts';

export interface TimeOut {
  readonly system: Pick<System, 'sleep'>;
  readonly ms: number;
}

const noAnswer = (ms: number) => (): NoAnswer => new NoAnswer(`the event store did not answer within ${ms} ms`);

/**
 * The client enforces no deadline on most calls: a server that accepts and never answers keeps them pending for ever.
 * @throws {NoAnswer} after the time; what `work` does later is ignored.
 */
export const withTimeOut = <T>({ system, ms }: TimeOut, work: Promise<T>): Promise<T> =>
  withTimeout({ system, ms, error: noAnswer(ms) }, work);

/**
 * As `withTimeOut`, but the time begins anew for as long as something has come in the meantime: a busy server, or one far
 * away, is not a dead one.
 * @param received how much has come so far.
 */
export const whileAnswering = async <T>(timeOut: TimeOut, work: Promise<T>, received: () => number): Promise<T> => {
  for (let before = 0; ; ) {
    try {
      return await withTimeOut(timeOut, work);
    } catch (error) {
      const now = received();
      if (!(error instanceof NoAnswer) || now === before) throw error;
      before = now;
    }
  }
};

/** Lets `capacity` calls be open at a time. @throws {NoAnswer} when no turn came in time: the call was not begun. */
export const createCallSlots = (capacity: number, { system, ms }: TimeOut): Semaphore =>
  createSemaphore({ capacity, timeout: { system, ms, error: noAnswer(ms) } });
