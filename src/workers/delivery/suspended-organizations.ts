import { SERVICE_SENDER } from '../../commands/message/send-message.ts';
import { jitter, random } from '../../domain/kernel/jitter.ts';
import { organizationStream } from '../../domain/kernel/streams.ts';
import type { Hold } from '../../domain/message/attempt.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import { suspensionOf } from '../../domain/organization/organization.ts';
import type { System } from '../../lib/async/async.ts';
import type { Organizations } from '../organizations.ts';

/**
 * Holds all mail of suspended organizations. It is held by the stream of its organization, not by the organization's id:
 * that one holds bulk mail by its reputation, which a resumed organization may still have.
 */
export interface SuspensionHolds {
  /** Whether this holder is a suspended organization. False of any other holder. */
  keeps(holder: string): boolean;
  /** null: it may leave. Mail of this service to members and contacts always may: they sign in with it. */
  of(message: Pick<ExistingMessage, 'organizationId' | 'accepted'>): Hold | null;
}

/**
 * Held mail is found when its organization is resumed; otherwise it is looked at again after this (it may be suppressed, or
 * its domain deleted). Longer leaves such mail lying, shorter costs an event for each message more often.
 */
const WAIT_SECONDS = 86_400;

const PREFIX = organizationStream('');

export const createSuspensionHolds = (organizations: Organizations, system: System): SuspensionHolds => {
  const isSuspended = (organizationId: string): boolean => suspensionOf(organizations.get(organizationId)) !== null;
  return {
    keeps: (holder) => holder.startsWith(PREFIX) && isSuspended(holder.slice(PREFIX.length)),
    of: ({ organizationId, accepted }) =>
      isSuspended(organizationId) && accepted.keyId !== SERVICE_SENDER
        ? {
            reason: 'organization_suspended',
            heldBy: organizationStream(organizationId),
            waitSeconds: jitter(WAIT_SECONDS, random(system)),
          }
        : null,
  };
};
