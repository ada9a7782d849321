import type { Caller } from '../../domain/api-key/key-authority.ts';
import type { MessageDraft } from '../../domain/message/draft.ts';
import { TTL_SECONDS_DEFAULT } from '../../domain/message/retry-schedule.ts';
import type { Notice } from '../../domain/organization/notices.ts';
import { CONFIDENTIAL_HEADER } from '../../domain/ports/mail.ts';
import type { StoredAttachment } from '../../lib/mime/mime.ts';
import { internalOrigin } from '../context.ts';
import { type SendContext, type SentMessage, sendMessage } from './send-message.ts';

/**
 * Mail of this service itself, as ordinary live messages from a domain of the organization that it concerns. They are neither
 * billed nor counted in statistics, and not tracked.
 */

/** A notice, and to whom it goes. */
export interface MailedNotice {
  readonly organizationId: string;
  readonly notice: Notice;
  /** One address. */
  readonly to: string;
  readonly attachments: readonly StoredAttachment[];
  readonly actor: string;
  readonly causeId: string;
  /** The same is one message. With a line break, which no client can send. */
  readonly idempotencyKey: string;
  /** Default: `TTL_SECONDS_DEFAULT`. */
  readonly ttlSeconds?: number;
  /** It contains a sign-in link: its content is shown to its recipient only. */
  readonly confidential?: true;
}

/** A domain that may send live mail. */
export interface NoticeDomain {
  readonly id: string;
  readonly name: string;
}

/** In place of a key's id, which no key can have. */
export const SERVICE_SENDER = 'service';

const LOCAL_PART = 'outbox';

const draftOf = (mailed: MailedNotice, from: string): MessageDraft => ({
  ...mailed.notice,
  from: { address: from, name: 'Outbox' },
  recipients: [{ address: mailed.to, kind: 'to' }],
  replyTo: [],
  // RFC 3834 §5: prevents automatic replies.
  headers: {
    'Auto-Submitted': 'auto-generated',
    ...(mailed.confidential === undefined ? {} : { [CONFIDENTIAL_HEADER]: 'yes' }),
  },
  attachments: mailed.attachments,
  tags: [],
  metadata: {},
  stream: 'transactional',
  ttlSeconds: mailed.ttlSeconds ?? TTL_SECONDS_DEFAULT,
  trial: true,
  ...(mailed.confidential === undefined ? {} : { confidential: mailed.confidential }),
});

const sender = (organizationId: string, { id, name }: NoticeDomain): Caller => ({
  keyId: SERVICE_SENDER,
  secret: 0,
  organizationId,
  environment: 'live',
  permissions: ['send'],
  bounds: { allowedCidrs: [], expiresAt: null, rateLimits: {} },
  domain: { id, name, verified: true },
});

/** Accepts a notice durably. @throws {DomainError} it is refused. */
export const mailNotice = (context: SendContext, domain: NoticeDomain, mailed: MailedNotice): Promise<SentMessage> => {
  const { organizationId, actor, causeId, idempotencyKey } = mailed;
  const origin = internalOrigin({ actor, organizationId, environment: 'live', causeId });
  const draft = draftOf(mailed, `${LOCAL_PART}@${domain.name}`);
  return sendMessage(context, origin, sender(organizationId, domain), { draft, body: null, idempotencyKey });
};
