import { type Due, keyOf, STREAMS, type Stream } from './delivery-job.ts';

/**
 * What waits in this process for a place among the attempts in hand: in lines of its own for each destination, so that
 * one that is slow or gone holds up nobody else, and of those that may leave the transactional first.
 */
export interface Departures {
  /**
   * Takes what is due into the line of a destination. A line that is full, or whose destination is paused, refuses, and
   * so does everything at the end: what is refused is in the timetable, and offered again.
   * @returns once it has ended: whether it was begun.
   */
  add(due: Due, at: { readonly operator: string; readonly stream: Stream }): Promise<boolean>;
  /** A destination may get more than before. */
  wake(operator: string): void;
  /** Begins nothing new. @returns once what was begun has ended. */
  close(): Promise<void>;
}

/** An attempt that needs its place no more; `recorded` resolves when it has ended altogether. */
export interface Departed {
  readonly recorded: Promise<void>;
}

export interface DeparturesOptions {
  /** Attempts in hand at the same time, all destinations together. */
  readonly inHandMax: number;
  /** In one line, of each stream. */
  readonly waitingMax: number;
  /** Attempts in hand for one destination; 0: it is paused. */
  limitOf(operator: string): number;
  /** Makes an attempt; never fails. */
  depart(due: Due, operator: string): Promise<Departed>;
}

interface Waiting {
  readonly due: Due;
  end(begun: boolean): void;
}

interface Line {
  readonly operator: string;
  readonly waiting: Readonly<Record<Stream, Waiting[]>>;
  inHand: number;
}

export const createDepartures = ({ inHandMax, waitingMax, limitOf, depart }: DeparturesOptions): Departures => {
  const lines = new Map<string, Line>();
  /** Lines with something that may leave, in turn. */
  const ready: Readonly<Record<Stream, Set<Line>>> = { transactional: new Set(), bulk: new Set() };
  /** All that waits or is in hand. */
  const present = new Set<string>();
  const running = new Set<Promise<void>>();
  let inHand = 0;
  let closed = false;

  const isEmpty = (line: Line): boolean =>
    line.inHand === 0 && STREAMS.every((stream) => line.waiting[stream].length === 0);

  const dismiss = ({ waiting }: Line): void => {
    for (const { due, end } of STREAMS.flatMap((stream) => waiting[stream].splice(0))) {
      present.delete(keyOf(due));
      end(false);
    }
  };

  const setReady = (line: Line, stream: Stream, isReady: boolean): void => {
    if (isReady) ready[stream].add(line);
    else ready[stream].delete(line);
  };

  /** What stands in the line of a destination that is paused is left to the timetable. */
  const review = (line: Line): void => {
    const limit = limitOf(line.operator);
    if (limit === 0) dismiss(line);
    for (const stream of STREAMS) setReady(line, stream, line.inHand < limit && line.waiting[stream].length > 0);
    if (isEmpty(line)) lines.delete(line.operator);
  };

  const run = async (line: Line, { due, end }: Waiting): Promise<void> => {
    const { recorded } = await depart(due, line.operator);
    line.inHand -= 1;
    inHand -= 1;
    review(line);
    fill();
    await recorded;
    present.delete(keyOf(due));
    end(true);
  };

  /** @returns false: nothing of this stream may leave. */
  const take = (stream: Stream): boolean => {
    const [line] = ready[stream];
    const next = line?.waiting[stream].shift();
    if (line === undefined || next === undefined) return false;
    ready[stream].delete(line); // its next turn is after all others'
    line.inHand += 1;
    inHand += 1;
    review(line);
    const one = run(line, next);
    running.add(one);
    void one.finally(() => running.delete(one));
    return true;
  };

  const fill = (): void => {
    while (!closed && inHand < inHandMax && STREAMS.some(take));
  };

  const isWelcome = (due: Due, line: Line, stream: Stream): boolean =>
    !closed && !present.has(keyOf(due)) && line.waiting[stream].length < waitingMax && limitOf(line.operator) > 0;

  return {
    add: (due, { operator, stream }) => {
      const line = lines.get(operator) ?? { operator, waiting: { transactional: [], bulk: [] }, inHand: 0 };
      if (!isWelcome(due, line, stream)) return Promise.resolve(false);
      return new Promise((end) => {
        lines.set(operator, line);
        present.add(keyOf(due));
        line.waiting[stream].push({ due, end });
        review(line);
        fill();
      });
    },
    wake: (operator) => {
      const line = lines.get(operator);
      if (line === undefined) return;
      review(line);
      fill();
    },
    close: async () => {
      closed = true;
      for (const line of [...lines.values()]) dismiss(line);
      await Promise.all(running);
    },
  };
};
