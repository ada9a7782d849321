import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { messagesProjection } from '../../../src/projections/messages/projection.ts';
import { type ListMessages, listMessages } from '../../../src/projections/messages/queries.ts';
import { messageAccepted } from '../../support/controls/message.ts';
import { openApplied } from './applied.ts';

/** Accepted messages, and their list. */

export const ALL: ListMessages = {
  organizationId: 'org_mine',
  environment: 'live',
  domainId: null,
  status: null,
  toDigest: null,
  fromDigest: null,
  tagDigest: null,
  since: null,
  until: null,
  limit: 25,
  after: null,
  metadataDigest: null,
  subjectDigest: null,
  searchWords: [],
  template: null,
  withoutTemplate: false,
  recipientDomain: null,
  mailboxProvider: null,
  bounceClass: null,
  outcome: null,
  outcomeSince: null,
  outcomeUntil: null,
  stream: null,
  smtpCodes: [],
  keyId: null,
  secret: null,
  requestId: null,
  messageId: null,
};

type Message = { id: string; at: string } & Partial<Extract<MessageEvent, { type: 'MessageAccepted' }>['data']>;

export const openWith = async (messages: readonly Message[]) => {
  const applied = await openApplied(messagesProjection);
  for (const { id, at, ...data } of messages) {
    await applied.given(`message-${id}`, [messageAccepted({ messageId: id, ...data })], { occurredAt: at });
  }
  const ids = async (by: Partial<ListMessages>): Promise<readonly string[]> =>
    (await listMessages(applied.pool, { ...ALL, ...by })).items.map(({ messageId }) => messageId);
  return { ...applied, ids };
};

export const minute = (number: number): string => `2026-11-20T10:${String(number).padStart(2, '0')}:00.000Z`;
