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
  of(message: Pick<ExistingMessage, 'accepted' | 'environment' | 'recipients'>): Hold | null;
}

/** Of a domain that is slowed, a process lets one message pass in so long: more harm at less, days for a list at more. */
const PASS_EVERY_MS = 1_000;
/**
 * What waits is found when it may go on; without that it is looked at after so long (suppressions, a domain that is
 * gone). Longer leaves such mail lying, shorter costs an event of each message more often.
 */
const WAIT_SECONDS = 86_400;
/** What began to wait together is not looked at together. */
const JITTER = 0.1;

const REASONS = { slowed: 'domain_slowed', paused: 'domain_paused' } as const;

interface Known {
  standing: Standing;
  /** When the next may pass, where it is slowed. */
  passMs: number;
}

export const createSendingHolds = (system: System): SendingHolds => {
  /** Domains that were ever warned: few. */
  const domains = new Map<string, Known>();

  /** What waits already goes before what comes. */
  const mayPass = (known: Known, { recipients }: Pick<ExistingMessage, 'recipients'>): boolean => {
    const nowMs = system.now().getTime();
    if (nowMs < known.passMs || recipients.every(({ held }) => held === null)) return false;
    known.passMs = nowMs + PASS_EVERY_MS;
    return true;
  };

  const holdOf = (message: Pick<ExistingMessage, 'accepted' | 'recipients'>): Hold | null => {
    const { domainId: heldBy } = message.accepted;
    const known = domains.get(heldBy);
    const level = known?.standing.level;
    if (known === undefined || (level !== 'slowed' && level !== 'paused')) return null;
    if (level === 'slowed' && mayPass(known, message)) return null;
    const waitSeconds = WAIT_SECONDS * (1 - JITTER + 2 * JITTER * chance(system));
    return { reason: REASONS[level], heldBy, waitSeconds };
  };

  return {
    apply: (event) => {
      const { domainId } = (event as RecordedEvent<StandingEvent>).data; // all of the family name it
      const before = domains.get(domainId)?.standing ?? standing.initial;
      const after = standing.evolve(before, event as RecordedEvent<StandingEvent>, event.metadata);
      domains.set(domainId, { standing: after, passMs: 0 });
    },
    standingOf: (domainId) => domains.get(domainId)?.standing ?? GOOD_STANDING,
    of: (message) => (message.accepted.stream === 'bulk' && message.environment === 'live' ? holdOf(message) : null),
  };
};
