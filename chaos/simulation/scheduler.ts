import type { Random } from './random.ts';
import type { Trace } from './trace.ts';

/** A scheduled step, which can be cancelled until it runs. */
export interface ScheduledStep {
  cancel(): void;
}

/** Simulated time, which does not pass while a step runs. Steps due at the same time run in random order. */
export interface Scheduler {
  /** Milliseconds since the simulation began. */
  nowMs(): number;
  after(delayMs: number, what: string, run: () => void): ScheduledStep;
  /** Like `after`, but skipping idle time never jumps past it. */
  appoint(delayMs: number, what: string, run: () => void): ScheduledStep;
  /** Infinity if there is no appointment. */
  nextAppointmentMs(): number;
  /** Runs the next step and everything that follows from it immediately. @returns false if no step is scheduled. */
  step(): Promise<boolean>;
  /** Advances time without running anything, like a pause of the whole machine. Steps that were due run late. */
  skipTo(atMs: number): void;
  steps(): number;
}

interface Step {
  readonly atMs: number;
  readonly order: number;
  readonly what: string;
  run: (() => void) | null;
}

const isBefore = (left: Step, right: Step): boolean =>
  left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);

/** Binary heap, earliest step first. */
const createHeap = () => {
  const steps: Step[] = [];
  const at = (index: number): Step => steps[index] as Step; // callers keep the index within bounds

  const swap = (one: number, other: number): void => {
    const kept = at(one);
    steps[one] = at(other);
    steps[other] = kept;
  };

  const rise = (from: number): void => {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(at(index), at(parent))) return;
      swap(index, parent);
      index = parent;
    }
  };

  const earlierChild = (index: number): number => {
    const left = 2 * index + 1;
    return left + 1 < steps.length && isBefore(at(left + 1), at(left)) ? left + 1 : left;
  };

  const sink = (): void => {
    let index = 0;
    for (let child = earlierChild(0); child < steps.length; child = earlierChild(index)) {
      if (!isBefore(at(child), at(index))) return;
      swap(index, child);
      index = child;
    }
  };

  return {
    push: (step: Step): void => {
      steps.push(step);
      rise(steps.length - 1);
    },
    pop: (): Step | undefined => {
      const first = steps[0];
      const last = steps.pop();
      if (first === undefined || last === undefined || steps.length === 0) return first;
      steps[0] = last;
      sink();
      return first;
    },
  };
};

/** Resolves once every pending promise reaction has run. */
const microtasks = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const createScheduler = (random: Random, trace: Trace): Scheduler => {
  const heap = createHeap();
  const appointments = new Set<Step>();
  let now = 0;
  let count = 0;

  const nextStep = (): Step | undefined => {
    let step = heap.pop();
    while (step !== undefined && step.run === null) step = heap.pop();
    return step;
  };

  const plan = (delayMs: number, what: string, run: () => void): Step => {
    const step: Step = { atMs: now + Math.max(0, Math.round(delayMs)), order: random.next(), what, run };
    heap.push(step);
    return step;
  };

  return {
    nowMs: () => now,
    after: (delayMs, what, run) => {
      const step = plan(delayMs, what, run);
      return {
        cancel: () => {
          step.run = null;
        },
      };
    },
    appoint: (delayMs, what, run) => {
      const step = plan(delayMs, what, () => {
        appointments.delete(step);
        run();
      });
      appointments.add(step);
      return {
        cancel: () => {
          appointments.delete(step);
          step.run = null;
        },
      };
    },
    nextAppointmentMs: () => Math.min(...[...appointments].map(({ atMs }) => atMs)),
    step: async () => {
      const step = nextStep();
      if (step === undefined) return false;
      now = Math.max(now, step.atMs);
      count += 1;
      trace.note(now, step.what);
      step.run?.();
      await microtasks();
      return true;
    },
    skipTo: (atMs) => {
      now = Math.max(now, atMs);
    },
    steps: () => count,
  };
};
