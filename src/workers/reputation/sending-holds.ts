import type { StandingEvent } from '../../domain/events.ts';
import { jitter, random } from '../../domain/jitter.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Hold } from '../../domain/message/start-attempt.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import { GOOD_STANDING, judgedIn, type Standing, standing } from '../../domain/reputation/reputation.ts';

type Sent = Pick<ExistingMessage, 'accepted' | 'environment' | 'organizationId' | 'recipients'>;

/** Which bulk mail has to wait, by how the domains and organizations stand that it is sent from. */
export interface SendingHolds {
  /** Takes the next event of the family. */
  apply(event: RecordedEvent): void;
  /** @param senderId of a domain or an organization. */
  standingOf(senderId: string): Standing;
  /** null: it may leave. Transactional mail always may, and so may all of the test environment. */
  of(message: Sent): Hold | null;
}

/** Of who is slowed, a process lets one message pass in so long: more harm at less, days for a list at more. */
const PASS_EVERY_MS = 1_000;
/**
 * What waits is found when it may go on; without that it is looked at after so long (suppressions, a domain that is
 * gone). Longer leaves such mail lying, shorter costs an event of each message more often.
 */
const WAIT_SECONDS = 86_400;

const REASONS = {
  slowed: { domain: 'domain_slowed', organization: 'organization_slowed' },
  paused: { domain: 'domain_paused', organization: 'organization_paused' },
} as const;

interface Known {
  readonly standing: Standing;
  /** When the next may pass, where it is slowed. */
  passMs: number;
}

interface Holder {
  readonly id: string;
  readonly what: 'domain' | 'organization';
}

export const createSendingHolds = (system: System): SendingHolds => {
  /** Those that were ever warned: few. */
  const senders = new Map<string, Known>();

  /** What waits already goes before what comes, and in turn for all of those that slow it. */
  const mayPass = (slowing: readonly Known[], { recipients }: Sent): boolean => {
    const nowMs = system.now().getTime();
    if (slowing.some(({ passMs }) => nowMs < passMs) || recipients.every(({ held }) => held === null)) return false;
    for (const known of slowing) known.passMs = nowMs + PASS_EVERY_MS;
    return true;
  };

  const hold = (level: keyof typeof REASONS, { id, what }: Holder): Hold => {
    const waitSeconds = jitter(WAIT_SECONDS, random(system));
    return { reason: REASONS[level][what], heldBy: id, waitSeconds };
  };

  const holdOf = (message: Sent): Hold | null => {
    const both: readonly Holder[] = [
      { id: message.accepted.domainId, what: 'domain' },
      { id: message.organizationId, what: 'organization' },
    ];
    const at = (level: keyof typeof REASONS) => both.filter(({ id }) => senders.get(id)?.standing.level === level);
    const [paused] = at('paused');
    if (paused !== undefined) return hold('paused', paused);
    const slowing = at('slowed');
    const [first] = slowing;
    const known = slowing.flatMap(({ id }) => senders.get(id) ?? []);
    return first === undefined || mayPass(known, message) ? null : hold('slowed', first);
  };

  return {
    apply: (event) => {
      const said = event as RecordedEvent<StandingEvent>; // of the family that it is given
      const senderId = judgedIn(said);
      const before = senders.get(senderId)?.standing ?? standing.initial;
      senders.set(senderId, { standing: standing.evolve(before, said, said.metadata), passMs: 0 });
    },
    standingOf: (senderId) => senders.get(senderId)?.standing ?? GOOD_STANDING,
    of: (message) => (message.accepted.stream === 'bulk' && message.environment === 'live' ? holdOf(message) : null),
  };
};
