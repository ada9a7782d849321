import type { SendOptions } from '../../domain/mail-transport.ts';
import type { System } from '../../domain/system.ts';

/** The deadline of one send: as a signal for whatever waits, and as a question right before the final dot. */
export interface Deadline {
  readonly signal: AbortSignal;
  mayFinish(): boolean;
  /** Forgets the timer. */
  end(): void;
}

export const createDeadline = (system: System, { deadlineMs, signal }: SendOptions): Deadline => {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, Math.max(deadlineMs - system.monotonicMs(), 0));
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    mayFinish: () => !controller.signal.aborted && system.monotonicMs() < deadlineMs,
    end: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
};
