import type { RecordedEvent } from '../../domain/event-store.ts';
import type { StandingEvent } from '../../domain/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Hold } from '../../domain/message/start-attempt.ts';
import { GOOD_STANDING, type Standing, standing } from '../../domain/standing/standing.ts';
import type { System } from '../../domain/system.ts';
import { chance } from '../chance.ts';

/** Which bulk mail has to wait, by how the domains stand that it is sent from. */
export interface SendingHolds {
  /** Takes the next event of the family. */
  apply(event: RecordedEvent): void;
  standingOf(domainId: string): Standing;
  /** null: it may leave. Transactional mail always may, and so may all of the test environment. */
  of(message: Pick<ExistingMessage, 'accepted' | 'environment'>): Hold | null;
}

const SECOND_MS = 1_000;
/** Of a domain that is slowed, a process lets one message pass in so long: more harm at less, days for a list at more. */
const PASS_EVERY_MS = 1_000;
/** What has to wait waits at least so long: shorter, and a full list costs the log more than it sends. */
const SLOWED_MS_MIN = 60_000;
/** What is paused is looked at after this, and then as late again as it has been paused already. */
const PAUSED_MS_MIN = 900_000;
/** Longer leaves mail lying when its domain is released, shorter costs an event of each recipient more often. */
const WAIT_MS_MAX = 14_400_000;
/** What began to wait together does not come back together. */
const JITTER = 0.1;

const REASONS = { slowed: 'domain_slowed', paused: 'domain_paused' } as const;

interface Known {
  standing: Standing;
  /** When the next may pass. */
  passMs: number;
  /** When the last of those that wait comes back: each has a moment of its own. */
  lastMs: number;
}

export const createSendingHolds = (system: System): SendingHolds => {
  /** Domains that were ever warned: few. */
  const domains = new Map<string, Known>();

  const pausedMs = ({ since }: Standing, nowMs: number): number => {
    const elapsed = nowMs - Date.parse(since ?? new Date(nowMs).toISOString());
    const wait = Math.min(WAIT_MS_MAX, Math.max(PAUSED_MS_MIN, elapsed));
    return wait * (1 - JITTER + 2 * JITTER * chance(system));
  };

  /** 0: it may pass. */
  const slowedMs = (known: Known, nowMs: number): number => {
    if (nowMs >= known.passMs) {
      known.passMs = nowMs + PASS_EVERY_MS;
      return 0;
    }
    const nextMs = Math.max(known.lastMs + PASS_EVERY_MS, nowMs + SLOWED_MS_MIN);
    if (nextMs > nowMs + WAIT_MS_MAX) return WAIT_MS_MAX * (1 - JITTER * chance(system));
    known.lastMs = nextMs;
    return nextMs - nowMs;
  };

  const holdOf = (heldBy: string, known: Known): Hold | null => {
    const { level } = known.standing;
    if (level !== 'slowed' && level !== 'paused') return null;
    const nowMs = system.now().getTime();
    const waitMs = level === 'paused' ? pausedMs(known.standing, nowMs) : slowedMs(known, nowMs);
    return waitMs === 0 ? null : { reason: REASONS[level], heldBy, waitSeconds: waitMs / SECOND_MS };
  };

  return {
    apply: (event) => {
      const { domainId } = (event as RecordedEvent<StandingEvent>).data; // all of the family name it
      const before = domains.get(domainId)?.standing ?? standing.initial;
      const after = standing.evolve(before, event as RecordedEvent<StandingEvent>, event.metadata);
      domains.set(domainId, { standing: after, passMs: 0, lastMs: 0 });
    },
    standingOf: (domainId) => domains.get(domainId)?.standing ?? GOOD_STANDING,
    of: ({ accepted: { stream, domainId }, environment }) => {
      const known = domains.get(domainId);
      return known === undefined || stream !== 'bulk' || environment !== 'live' ? null : holdOf(domainId, known);
    },
  };
};
