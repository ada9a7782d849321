import { isFatal } from '../domain/kernel/codec.ts';
import { type Logger, pause, type System } from '../lib/async/async.ts';

/**
 * Which process does what must be done once. The leader is the process that moves the checkpoint of the webhook deliveries;
 * a process that finds another moving it follows. For a moment two may believe that they lead: they do some things twice,
 * which costs time and nothing else.
 */
export interface Leadership {
  isLeader(): boolean;
  lead(): void;
  follow(): void;
}

export const createLeadership = (): Leadership => {
  let leads = true;
  return {
    isLeader: () => leads,
    lead: () => {
      leads = true;
    },
    follow: () => {
      leads = false;
    },
  };
};

/** The work of a loop, until `signal` aborts. It calls `working` after each success. */
export type Work = (signal: AbortSignal, working: () => void) => Promise<void>;

export interface Loop {
  /** Resolves when the work has ended. Never rejects. */
  stop(): Promise<void>;
}

interface SupervisorTools {
  readonly system: System;
  readonly logger: Logger;
  /** The work failed for good (`isFatal`): the process has to end. */
  onFatal(error: unknown): void;
}

/** Back-off after faults in a row: shorter hammers what is down, longer starts late when it is back. */
const BACK_OFF_MS_MIN = 100;
const BACK_OFF_MS_MAX = 2000;

const backOffMs = ({ randomBytes }: System, faults: number): number => {
  const full = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** (faults - 1));
  return full * (0.5 + (randomBytes(1)[0] ?? 0) / 512);
};

/**
 * Runs work for as long as the process lives, and restarts it with back-off when it fails. Logs one line for the first fault
 * of a row and one, with their number, when the work goes on. A fault that a restart would not change is fatal.
 */
export const supervise = (tools: SupervisorTools, name: string, work: Work): Loop => {
  const { system, logger, onFatal } = tools;
  const stopping = new AbortController();
  let faults = 0;

  const working = (): void => {
    if (faults > 0) logger.info({ loop: name, faults }, 'a background job recovered');
    faults = 0;
  };

  const failed = (error: unknown): void => {
    faults += 1;
    if (faults === 1) logger.warn({ loop: name, err: error }, 'a background job failed: retrying');
  };

  /** @returns whether to restart. */
  const once = async (): Promise<boolean> => {
    try {
      await work(stopping.signal, working);
    } catch (error) {
      if (stopping.signal.aborted) return false;
      if (isFatal(error)) {
        onFatal(error);
        return false;
      }
      failed(error);
    }
    return !stopping.signal.aborted;
  };

  const run = async (): Promise<void> => {
    while (await once()) await pause(system, backOffMs(system, Math.max(1, faults)), stopping.signal);
  };

  const ended = run();
  return {
    stop: () => {
      stopping.abort();
      return ended;
    },
  };
};

/** Work that repeats one step; each step returns the milliseconds until the next, and ends early when `signal` aborts. */
export const repeat =
  (system: System, step: (signal: AbortSignal) => Promise<number>): Work =>
  async (signal, working) => {
    while (!signal.aborted) {
      const waitMs = await step(signal);
      working();
      await pause(system, waitMs, signal);
    }
  };
