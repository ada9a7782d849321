import { pause } from '../../async/with-timeout.ts';
import type { System } from '../../domain/ports/system.ts';
import type { Duty } from '../duty.ts';
import type { Work } from '../supervise.ts';
import type { DomainTimetable } from './domain-timetable.ts';

export interface CheckDomains {
  /** Looks at one domain's records and draws the consequences. Absent: mail is captured, and there is nothing to look at. */
  readonly checkDomain?: (domainId: string) => Promise<void>;
  readonly domainTimetable: DomainTimetable;
  /** Resolves when the timetable knows the log. */
  readonly caughtUp: Promise<void>;
  readonly duty: Pick<Duty, 'isOn'>;
  readonly system: System;
}

/** How late a look may be. Each look at the timetable goes through all domains in memory. */
const EVERY_MS = 5_000;
/** Looks at once: a few hundred questions under way. More flood the resolver, fewer take longer after a start. */
const LOOKS_MAX = 8;
/** Begun in one round, so that a stop is not waited for: the rest is due in the next. */
const ROUND_MAX = 64;
/** What was due so long before this process took up its duty is made good; longer looks at more after each start. */
const MADE_GOOD_MS = 3_600_000;

/** What could not be looked at is tried again after this: shorter goes on at what is down, longer is felt. */
const POSTPONED_MS = 60_000;

/** @returns faults, which keep no other domain from its turn. */
const lookAtAll = async (
  { checkDomain, domainTimetable, system }: CheckDomains,
  domainIds: readonly string[],
  signal: AbortSignal,
): Promise<readonly unknown[]> => {
  const waiting = domainIds.values();
  const faults: unknown[] = [];
  const look = async (domainId: string): Promise<void> => {
    const nowMs = system.now().getTime();
    domainTimetable.looked(domainId, nowMs);
    try {
      await checkDomain?.(domainId);
    } catch (error) {
      domainTimetable.postpone(domainId, nowMs + POSTPONED_MS);
      faults.push(error);
    }
  };
  const lane = async (): Promise<void> => {
    for (const domainId of waiting) if (!signal.aborted) await look(domainId);
  };
  await Promise.all(Array.from({ length: LOOKS_MAX }, lane));
  return faults;
};

/** Looks at the DNS records of domains in their times: soon and often while they wait, then every few hours. */
export const checkDomains = (deps: CheckDomains): Work => {
  const { checkDomain, domainTimetable, caughtUp, duty, system } = deps;
  let isKnown = false;
  let sinceMs: number | null = null;
  void caughtUp.then(() => {
    isKnown = true;
  });

  const round = async (signal: AbortSignal): Promise<void> => {
    const nowMs = system.now().getTime();
    if (!duty.isOn()) {
      sinceMs = nowMs;
      return;
    }
    sinceMs ??= nowMs - MADE_GOOD_MS;
    const due = domainTimetable.due(sinceMs, nowMs).slice(0, ROUND_MAX);
    const [fault] = await lookAtAll(deps, due, signal);
    if (fault !== undefined) throw fault;
  };

  return async (signal, working) => {
    while (!signal.aborted) {
      if (checkDomain !== undefined && isKnown) await round(signal);
      working();
      await pause(system, EVERY_MS, signal);
    }
  };
};
