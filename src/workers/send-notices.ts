import { internalOrigin } from '../commands/context.ts';
import { type SendContext, sendMessage } from '../commands/message/send-message.ts';
import { loadOrganization } from '../commands/organization.ts';
import type { Caller } from '../domain/api-key/key-authority.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { MessageDraft } from '../domain/message/draft.ts';
import { TTL_SECONDS_DEFAULT } from '../domain/message/retry-schedule.ts';
import { type Notice, noticeOf } from '../domain/organization/notices.ts';
import type { StoredAttachment } from '../domain/ports/contents.ts';
import type { RecordedEvent } from '../domain/ports/event-store.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { SendingDomains } from './domains/sending-domains.ts';
import type { Reaction } from './webhooks/record-webhook-deliveries.ts';

/**
 * Mails notices (`domain/organization/notices.ts`) to the contact of their organization, as ordinary live messages from the
 * oldest of its domains that may send. The id of the message follows from the event, so that an event that comes twice
 * is one message. They are neither billed nor counted in statistics.
 */
export interface SendNotices extends SendContext {
  readonly sendingDomains: Pick<SendingDomains, 'sendableOf'>;
  readonly logger: Logger;
  /** The sending domains are known up to the log at the start. */
  readonly caughtUp: Promise<void>;
}

/** A notice, and to whom it goes. */
export interface MailedNotice {
  readonly organizationId: string;
  readonly notice: Notice;
  /** One address. */
  readonly to: string;
  readonly attachments: readonly StoredAttachment[];
  /** Of the event. */
  readonly actor: string;
  readonly causeId: string;
  /** The same is one message. With a line break, which no client can send. */
  readonly idempotencyKey: string;
}

const ACTOR = 'worker:send-notices';
const LOCAL_PART = 'outbox';

const draftOf = ({ notice, to, attachments }: MailedNotice, from: string): MessageDraft => ({
  ...notice,
  from: { address: from, name: 'Outbox' },
  recipients: [{ address: to, kind: 'to' }],
  replyTo: [],
  // RFC 3834 §5: nobody's program answers it.
  headers: { 'Auto-Submitted': 'auto-generated' },
  attachments,
  tags: [],
  metadata: {},
  stream: 'transactional',
  ttlSeconds: TTL_SECONDS_DEFAULT,
  trial: true,
});

const sender = (organizationId: string, domain: { readonly id: string; readonly name: string }): Caller => ({
  keyId: 'service',
  secret: 0,
  organizationId,
  environment: 'live',
  permissions: ['send'],
  bounds: { allowedCidrs: [], expiresAt: null, rateLimits: {} },
  domain: { ...domain, verified: true },
});

/** Mails a notice, or logs that no domain may send it. @throws {DomainError} it is refused. */
export const mailNotice = async (deps: SendNotices, mailed: MailedNotice): Promise<void> => {
  const { organizationId, notice, actor, causeId, idempotencyKey } = mailed;
  await deps.caughtUp;
  const domain = deps.sendingDomains.sendableOf(organizationId);
  if (domain === null) {
    deps.logger.warn({ organizationId, subject: notice.subject }, 'a notice is not mailed: no domain may send it');
    return;
  }
  const origin = internalOrigin({ actor, organizationId, environment: 'live', causeId });
  const draft = draftOf(mailed, `${LOCAL_PART}@${domain.name}`);
  await sendMessage(deps, origin, sender(organizationId, domain), { draft, body: null, idempotencyKey });
};

const send = async (deps: SendNotices, event: RecordedEvent, notice: Notice): Promise<void> => {
  const { organizationId } = event.metadata;
  const { contact } = await loadOrganization(deps, organizationId);
  if (contact === null) return;
  await mailNotice(deps, {
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
  (deps: SendNotices): Reaction =>
  async (events) => {
    for (const event of events) {
      const notice = noticeOf(event);
      if (notice === null) continue;
      await send(deps, event, notice).catch((err: unknown) => {
        if (!(err instanceof DomainError)) throw err;
        deps.logger.warn({ err, subject: notice.subject }, 'a notice is not mailed: it was refused');
      });
    }
  };
