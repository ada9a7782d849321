import type { MessageEvent } from '../../../src/domain/kernel/events.ts';

type Accepted = Extract<MessageEvent, { type: 'MessageAccepted' }>;
type Smtp = Extract<MessageEvent, { type: 'RecipientDelivered' }>['data']['smtp'];

export const about = { messageId: 'msg_1', contentId: 'content-1' };

export const recipient = (id: string): Accepted['data']['recipients'][number] => ({
  id,
  kind: 'to',
  domain: 'example.net',
  digest: `digest-${id}`,
});

export const messageAccepted = (data: Partial<Accepted['data']> = {}): Accepted => ({
  type: 'MessageAccepted',
  data: {
    ...about,
    sequence: 1,
    domainId: 'dom_1',
    keyId: 'key_1',
    internetMessageId: '<msg_1@example.test>',
    bodyDigest: 'digest',
    idempotent: false,
    fromDigest: 'digest-from',
    fromDomain: 'example.test',
    recipients: [recipient('rcp_1')],
    tagDigests: [],
    subjectDigest: 'subject',
    metadataDigests: [],
    stream: 'transactional',
    sizeBytes: 10,
    expiresAt: '2026-11-24T12:00:00.000Z',
    ...data,
  },
});

export const smtpReply = (code = 250): Smtp => ({
  code,
  enhanced: null,
  mx: 'mx.example.net',
  tls: null,
  replyId: null,
});

export const attemptStarted = (
  attempt: number,
  recipientIds: string[],
  more: { sequence?: number; leaseUntil?: string } = {},
): MessageEvent => ({
  type: 'AttemptStarted',
  data: { ...about, sequence: 2, attempt, recipientIds, leaseUntil: '2026-11-21T12:05:00.000Z', ...more },
});

type Scheduled = Extract<MessageEvent, { type: 'MessageScheduled' }>;

/** Scheduled for the following day, expiring a day later. */
export const messageScheduled = (data: Partial<Scheduled['data']> = {}): Scheduled => ({
  type: 'MessageScheduled',
  data: {
    ...about,
    sequence: 2,
    recipientIds: ['rcp_1'],
    scheduledAt: '2026-11-22T08:00:00.000Z',
    expiresAt: '2026-11-23T08:00:00.000Z',
    ...data,
  },
});
