import type { System } from '../../domain/ports/system.ts';
import { createAppointments } from './appointments.ts';
import { type Due, keyOf, STREAMS, type Stream } from './delivery-job.ts';
import { putLast } from './put-last.ts';

/**
 * What waits in this process for a place among the attempts in hand: in lines of its own for each destination, so that
 * one that is slow or gone holds up nobody else, and of those that may leave the transactional first.
 */
export interface Departures {
  /**
   * Takes what is due into the line of a destination. A line that is full, or whose destination is paused, refuses, and
   * so does everything at the end: what is refused is in the timetable, and offered again. What waits is claimed by nobody.
   * @returns once it has ended: whether it was begun.
   */
  add(due: Due, at: { readonly operator: string; readonly stream: Stream }): Promise<boolean>;
  /**
   * Domains of which nothing need be looked for in the timetable just now: enough of theirs stands in line, or what was
   * offered was refused a moment ago.
   */
  sated(stream: Stream): readonly string[];
  /** A destination may get more than before. */
  wake(operator: string): void;
  /** Begins nothing new. @returns once what was begun has ended. */
  close(): Promise<void>;
}

/** An attempt that needs its place no more; `recorded` resolves when it has ended altogether. */
export interface Departed {
  readonly recorded: Promise<void>;
}

/** How much a destination gets. */
export interface Allowances {
  /** Attempts in hand for it; 0: it is paused. */
  limitOf(operator: string): number;
  /** Until its rate lets the next one begin; 0: now. */
  waitMsOf(operator: string): number;
  /** So many of each stream may wait for its rate. */
  roomOf(operator: string): number;
  /** An attempt begins. */
  begun(operator: string): void;
}

export interface DeparturesOptions extends Allowances {
  /** Attempts in hand at the same time, all destinations together. */
  readonly inHandMax: number;
  /** In one line, of each stream. */
  readonly waitingMax: number;
  /** Makes an attempt; never fails. */
  depart(due: Due, operator: string): Promise<Departed>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
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

/** In line, of those who go next. More are looked for in vain again and again, fewer leave a quick destination waiting for a sweep. */
const ENOUGH = 20;
/** What was refused is not offered again for so long: what has expired meanwhile is told so late, and what may go on leaves so late. */
const REFUSED_MS = 4_000;
/** Domains that were refused; about 2 MB. Those that are forgotten are offered, and refused, again. */
const REFUSED_MAX = 20_000;

export const createDepartures = (options: DeparturesOptions): Departures => {
  const { inHandMax, waitingMax, limitOf, depart, system } = options;
  const lines = new Map<string, Line>();
  /** Lines with something that may leave, in turn. */
  const ready: Readonly<Record<Stream, Set<Line>>> = { transactional: new Set(), bulk: new Set() };
  /** All that waits or is in hand. */
  const present = new Set<string>();
  const running = new Set<Promise<void>>();
  /** Domains, and until when, in ms that never run backwards; in the order in which they were refused. */
  const refused: Readonly<Record<Stream, Map<string, number>>> = { transactional: new Map(), bulk: new Map() };
  let inHand = 0;
  let closed = false;

  const waitsIn = (line: Line): boolean => STREAMS.some((stream) => line.waiting[stream].length > 0);

  /** Who came last goes first. @param left so many of each stream may stay. */
  const dismiss = ({ waiting }: Line, left: number): void => {
    if (STREAMS.every((stream) => waiting[stream].length <= left)) return;
    for (const { due, end } of STREAMS.flatMap((stream) => waiting[stream].splice(left))) {
      present.delete(keyOf(due));
      end(false);
    }
  };

  const setReady = (line: Line, stream: Stream, isReady: boolean): void => {
    if (isReady) ready[stream].add(line);
    else ready[stream].delete(line);
  };

  const roomIn = ({ operator }: Line, limit: number): number =>
    limit === 0 ? 0 : Math.min(waitingMax, options.roomOf(operator));

  /** Or will be looked at again when it may. */
  const mayGo = (line: Line): boolean => {
    const waitMs = options.waitMsOf(line.operator);
    if (waitMs > 0 && waitsIn(line)) appointments.set(line.operator, system.monotonicMs() + waitMs);
    return waitMs === 0;
  };

  /** What stands in the line of a destination that is paused, or has become slow, is left to the timetable. */
  const review = (line: Line): void => {
    const limit = limitOf(line.operator);
    dismiss(line, roomIn(line, limit));
    const isOpen = line.inHand < limit && mayGo(line);
    for (const stream of STREAMS) setReady(line, stream, isOpen && line.waiting[stream].length > 0);
    if (line.inHand === 0 && !waitsIn(line)) lines.delete(line.operator);
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
    options.begun(line.operator);
    review(line);
    const one = run(line, next);
    running.add(one);
    void one.finally(() => running.delete(one));
    return true;
  };

  const fill = (): void => {
    while (!closed && inHand < inHandMax && STREAMS.some(take));
  };

  const hasRoom = (line: Line, stream: Stream): boolean =>
    !closed && line.waiting[stream].length < roomIn(line, limitOf(line.operator));

  const refuse = ({ destination }: Due, stream: Stream): void => {
    if (destination !== null) putLast(refused[stream], destination, system.monotonicMs() + REFUSED_MS, REFUSED_MAX);
  };

  /** Still: whose time is over is forgotten. */
  const refusedOf = (stream: Stream): readonly string[] => {
    const nowMs = system.monotonicMs();
    for (const [domain, untilMs] of refused[stream]) {
      if (untilMs > nowMs) break;
      refused[stream].delete(domain);
    }
    return [...refused[stream].keys()];
  };

  const wake = (operator: string): void => {
    const line = lines.get(operator);
    if (line === undefined) return;
    review(line);
    fill();
  };
  const appointments = createAppointments(system, wake);

  return {
    add: (due, { operator, stream }) => {
      const line = lines.get(operator) ?? { operator, waiting: { transactional: [], bulk: [] }, inHand: 0 };
      if (present.has(keyOf(due))) return Promise.resolve(false);
      if (!hasRoom(line, stream)) {
        refuse(due, stream);
        return Promise.resolve(false);
      }
      return new Promise((end) => {
        lines.set(operator, line);
        present.add(keyOf(due));
        line.waiting[stream].push({ due, end });
        review(line);
        fill();
      });
    },
    sated: (stream) => {
      const inLine = [...lines.values()].flatMap(({ waiting: { [stream]: waiting } }) =>
        waiting.length < ENOUGH
          ? []
          : waiting.slice(0, ENOUGH).flatMap(({ due: { destination } }) => destination ?? []),
      );
      return [...new Set([...inLine, ...refusedOf(stream)])];
    },
    wake,
    close: async () => {
      closed = true;
      appointments.close();
      for (const line of [...lines.values()]) dismiss(line, 0);
      await Promise.all(running);
    },
  };
};
