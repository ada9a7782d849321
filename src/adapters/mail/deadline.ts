import type { SendOptions } from '../../domain/ports/mail-transport.ts';
import type { System } from '../../domain/ports/system.ts';

/** The deadline of one send: as a signal for whatever waits, and as a question right before the final dot. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** There is time left. */
  mayFinish(): boolean;
  /** The same, and the attempt is still the one that may complete the message. */
  mayComplete(): boolean | Promise<boolean>;
  /** Forgets the timer. */
  end(): void;
}

export const createDeadline = (system: System, { deadlineMs, signal, mayComplete }: SendOptions): Deadline => {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  // A process that stood still runs its timers before it reads its sockets: a reply that has arrived meanwhile counts.
  const timer = setTimeout(() => setImmediate(abort), Math.max(deadlineMs - system.monotonicMs(), 0));
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const mayFinish = (): boolean => !controller.signal.aborted && system.monotonicMs() < deadlineMs;
  return {
    signal: controller.signal,
    mayFinish,
    mayComplete: () => {
      if (!mayFinish()) return false;
      const may = mayComplete?.() ?? true;
      return typeof may === 'boolean' ? may : may.then((isAllowed) => isAllowed && mayFinish());
    },
    end: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
};
