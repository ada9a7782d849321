import type { JobHandler } from '../../domain/ports/queue.ts';
import type { System } from '../../domain/ports/system.ts';

/** How one run of a job ended; a job `given-back` goes to other workers, any other is removed. */
export type Ending = { readonly kind: 'done' | 'given-back' } | { readonly kind: 'failed'; readonly error: unknown };

/** The jobs a worker is busy with. */
export interface InHand {
  run<Job>(handler: JobHandler<Job>, data: Job): Promise<Ending>;
  count(): number;
  /** Tells every handler to end, waits for them up to `limitMs`, then gives back what is left. */
  windDown(limitMs: number): Promise<void>;
}

interface Hand {
  readonly abort: AbortController;
  readonly giveBack: (ending: Ending) => void;
}

const attempt = async <Job>(handler: JobHandler<Job>, data: Job, signal: AbortSignal): Promise<Ending> => {
  try {
    await handler(data, signal);
    return { kind: 'done' };
  } catch (error) {
    return signal.aborted ? { kind: 'given-back' } : { kind: 'failed', error };
  }
};

export const createInHand = (system: System): InHand => {
  const hands = new Set<Hand>();
  const emptied = Promise.withResolvers<void>();
  let closing = false;

  const run = async <Job>(handler: JobHandler<Job>, data: Job): Promise<Ending> => {
    if (closing) return { kind: 'given-back' };
    // One promise and one controller a job: listeners on shared ones would pile up for as long as the worker lives.
    const given = Promise.withResolvers<Ending>();
    const hand: Hand = { abort: new AbortController(), giveBack: given.resolve };
    hands.add(hand);
    try {
      return await Promise.race([attempt(handler, data, hand.abort.signal), given.promise]);
    } finally {
      hands.delete(hand);
      if (closing && hands.size === 0) emptied.resolve();
    }
  };

  const windDown = async (limitMs: number): Promise<void> => {
    closing = true;
    if (hands.size === 0) return;
    for (const { abort } of hands) abort.abort();
    const timer = new AbortController();
    await Promise.race([emptied.promise, system.sleep(limitMs, timer.signal)]);
    timer.abort();
    for (const { giveBack } of hands) giveBack({ kind: 'given-back' });
  };

  return { run, count: () => hands.size, windDown };
};
