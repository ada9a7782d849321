import { type MailedNotice, mailNotice, type SendContext } from '../commands/message/send-message.ts';
import { loadOrganization } from '../commands/organization.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { RecordedEvent } from '../domain/kernel/event-store.ts';
import { type Notice, noticeOf } from '../domain/organization/organization.ts';
import type { Logger } from '../lib/async/async.ts';
import type { SendingDomains } from './domains/sending-domains.ts';
import type { EventsReaction } from './webhooks/record-webhook-deliveries.ts';

/**
 * Mails notices (`domain/organization/organization.ts`) to the contact of their organization, as ordinary live messages from the
 * oldest of its domains that may send. The id of the message follows from the event, so that an event that comes twice
 * is one message.
 */
export interface SendNotices extends SendContext {
  readonly sendingDomains: Pick<SendingDomains, 'sendableOf'>;
  readonly logger: Logger;
  /** The sending domains are known up to the log at the start. */
  readonly caughtUp: Promise<void>;
}

const ACTOR = 'worker:send-notices';

/** Mails a notice, or logs that no domain may send it. @throws {DomainError} it is refused. */
export const mailFromDomain = async (deps: SendNotices, mailed: MailedNotice): Promise<void> => {
  const { organizationId, notice } = mailed;
  await deps.caughtUp;
  const domain = deps.sendingDomains.sendableOf(organizationId);
  if (domain === null) {
    deps.logger.warn({ organizationId, subject: notice.subject }, 'cannot mail a notice: no domain can send it');
    return;
  }
  await mailNotice(deps, domain, mailed);
};

const send = async (deps: SendNotices, event: RecordedEvent, notice: Notice): Promise<void> => {
  const { organizationId } = event.metadata;
  const { contact } = await loadOrganization(deps, organizationId);
  if (contact === null) return;
  await mailFromDomain(deps, {
    organizationId,
    notice,
    to: contact,
    attachments: [],
    actor: ACTOR,
    causeId: event.id,
    idempotencyKey: `notice\n${event.id}`,
  });
};

export const createSendNotices =
  (deps: SendNotices): EventsReaction =>
  async (events) => {
    for (const event of events) {
      const notice = noticeOf(event);
      if (notice === null) continue;
      await send(deps, event, notice).catch((err: unknown) => {
        if (!(err instanceof DomainError)) throw err;
        deps.logger.warn({ err, subject: notice.subject }, 'cannot mail a notice: the send was rejected');
      });
    }
  };
