import { load } from '../../../src/commands/execute.ts';
import { claimAttempt } from '../../../src/commands/message/attempt.ts';
import type { BounceCategory } from '../../../src/domain/bounce/categories.ts';
import { LOG_START, type RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { SuppressionEvent } from '../../../src/domain/kernel/events.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { message, type UnnumberedEvent, withSequence } from '../../../src/domain/message/message.ts';
import { isSuppressing, type SuppressingEvent } from '../../../src/domain/suppression/suppression.ts';
import { contextAt } from '../../support/specification.ts';
import type { Service } from '../service.ts';

const REPLY_TEXT = '5.1.1 no such user';

/** Appends an event that the receiving server or the recipient caused. */
const happen = async (
  { dependencies: { store, contents }, system, organizationId }: Service,
  id: string,
  make: (about: { messageId: string; contentId: string; recipientId: string }, replyId: string) => UnnumberedEvent,
): Promise<void> => {
  const { state, revision } = await load(store, message, messageStream(id));
  if (state.status === 'absent') throw new Error(`there is no message ${id}`);
  const { messageId, contentId } = state.accepted;
  const replyId = system.uuid();
  await contents.put([{ id: replyId, organizationId, body: { kind: 'reply', messageId, text: REPLY_TEXT } }]);
  const made = make({ messageId, contentId, recipientId: state.recipients[0]?.id ?? '' }, replyId);
  await store.append({
    stream: messageStream(id),
    expected: revision,
    events: withSequence(state, [made]).map((event) => ({ ...event, id: system.uuid() })),
    context: { ...contextAt(system.now().toISOString(), organizationId), environment: state.environment },
  });
};

/** Bounces the first recipient of a waiting message permanently. */
export const bounce = async (service: Service, id: string, category: BounceCategory): Promise<void> => {
  const { store } = service.dependencies;
  const { system } = service;
  await claimAttempt({ store, system }, { messageId: id, leaseMs: 60_000, random: 0.5 });
  await happen(service, id, (about, replyId) => ({
    type: 'RecipientBounced',
    data: {
      ...about,
      attempt: 1,
      reason: 'the mail server rejected it permanently',
      category,
      smtp: { code: 550, enhanced: '5.1.1', mx: 'mx.example.net', tls: null, replyId },
    },
  }));
};

export const complain = (service: Service, id: string): Promise<void> =>
  happen(service, id, (data) => ({ type: 'RecipientComplained', data }));

export const unsubscribe = (service: Service, id: string, topicId?: string): Promise<void> =>
  happen(service, id, (data) => ({
    type: 'RecipientUnsubscribed',
    data: { ...data, method: 'page', ...(topicId === undefined ? {} : { topicId }) },
  }));

const eventsOf = async ({ dependencies: { store } }: Service, category: string): Promise<readonly RecordedEvent[]> =>
  (await store.readAll({ from: LOG_START, filter: { categories: [category] }, limit: 10_000 })).events;

/** Events in the log that suppress a recipient. */
export const suppressing = async (service: Service): Promise<readonly SuppressingEvent[]> =>
  (await eventsOf(service, 'message')).filter(isSuppressing);

/** All suppression events in the log, in order. */
export const suppressions = async (service: Service): Promise<readonly RecordedEvent<SuppressionEvent>[]> =>
  // The category contains suppression events only.
  (await eventsOf(service, 'suppression')) as readonly RecordedEvent<SuppressionEvent>[];
