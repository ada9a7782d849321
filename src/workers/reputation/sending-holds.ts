import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import { jitter, random } from '../../domain/kernel/jitter.ts';
import type { Hold } from '../../domain/message/attempt.ts';
import type { HoldReason } from '../../domain/message/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import {
  GOOD_REPUTATION,
  type Reputation,
  type ReputationEvent,
  reputation,
  senderIdIn,
} from '../../domain/reputation/reputation.ts';
import type { System } from '../../lib/async/async.ts';

type SentMail = Pick<ExistingMessage, 'accepted' | 'environment' | 'organizationId' | 'recipients'>;

/** In-memory projection of sender reputation: which bulk mail has to wait for its domain or organization. */
export interface SendingHolds {
  /** Applies an event of a sender. */
  apply(event: RecordedEvent): void;
  /** @param senderId of a domain or an organization. */
  reputationOf(senderId: string): Reputation;
  /** null: it may leave, as transactional mail and mail of the test environment always may. */
  of(message: SentMail): Hold | null;
}

/** A process lets one message of a slowed sender pass in this time: less does more harm, more makes a list take days. */
const PASS_EVERY_MS = 1_000;
/**
 * Held mail is found when it is released; otherwise it is tried again after this (it may be suppressed, or its domain
 * deleted). Longer leaves such mail lying, shorter costs an event for each message more often.
 */
const WAIT_SECONDS = 86_400;

const REASONS = {
  slowed: { domain: 'domain_slowed', organization: 'organization_slowed' },
  paused: { domain: 'domain_paused', organization: 'organization_paused' },
} as const;

interface SenderState {
  readonly state: Reputation;
  /** When the next message of a slowed sender may pass. */
  passMs: number;
}

interface Holder {
  readonly id: string;
  readonly what: 'domain' | 'organization';
}

export const createSendingHolds = (system: System): SendingHolds => {
  /** Senders that were ever warned or paused: few. */
  const senders = new Map<string, SenderState>();

  /** Mail that waits already goes first. It must be the turn of all senders that slow it. */
  const mayPass = (slowing: readonly SenderState[], { recipients }: SentMail): boolean => {
    const nowMs = system.now().getTime();
    if (slowing.some(({ passMs }) => nowMs < passMs) || recipients.every(({ held }) => held === null)) return false;
    for (const known of slowing) known.passMs = nowMs + PASS_EVERY_MS;
    return true;
  };

  const holdBy = (id: string, reason: HoldReason): Hold => ({
    reason,
    heldBy: id,
    waitSeconds: jitter(WAIT_SECONDS, random(system)),
  });

  const hold = (level: keyof typeof REASONS, { id, what }: Holder): Hold => holdBy(id, REASONS[level][what]);

  const isPausedBySomebody = ({ organizationId }: SentMail): boolean =>
    senders.get(organizationId)?.state.pausedSince != null;

  const holdOf = (message: SentMail): Hold | null => {
    if (isPausedBySomebody(message)) return holdBy(message.organizationId, 'bulk_mail_paused');
    const both: readonly Holder[] = [
      { id: message.accepted.domainId, what: 'domain' },
      { id: message.organizationId, what: 'organization' },
    ];
    const at = (level: keyof typeof REASONS) => both.filter(({ id }) => senders.get(id)?.state.level === level);
    const [paused] = at('paused');
    if (paused !== undefined) return hold('paused', paused);
    const slowing = at('slowed');
    const [first] = slowing;
    const known = slowing.flatMap(({ id }) => senders.get(id) ?? []);
    return first === undefined || mayPass(known, message) ? null : hold('slowed', first);
  };

  return {
    apply: (event) => {
      const said = event as RecordedEvent<ReputationEvent>; // of the family that it is given
      const senderId = senderIdIn(said);
      const before = senders.get(senderId)?.state ?? reputation.initial;
      senders.set(senderId, { state: reputation.evolve(before, said, said.metadata), passMs: 0 });
    },
    reputationOf: (senderId) => senders.get(senderId)?.state ?? GOOD_REPUTATION,
    of: (message) => (message.accepted.stream === 'bulk' && message.environment === 'live' ? holdOf(message) : null),
  };
};
