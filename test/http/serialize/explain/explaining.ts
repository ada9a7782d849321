import { fold } from '../../../../src/domain/kernel/aggregate.ts';
import type { MessageEvent } from '../../../../src/domain/kernel/events.ts';
import { message } from '../../../../src/domain/message/message.ts';
import type { MessageBody, ReplyText } from '../../../../src/domain/ports/contents.ts';
import { explainMessage, type MessageFacts } from '../../../../src/http/resources/messages/explain/explain-message.ts';
import type { Explanation, RecordedMessageEvent } from '../../../../src/http/resources/messages/explain/explanation.ts';
import { contextAt, NOW, recordedAs } from '../../../support/specification.ts';

export const minute = (count: number): string => new Date(Date.parse(NOW) + count * 60_000).toISOString();

export interface Told {
  readonly event: MessageEvent;
  /** Minutes after the first event. */
  readonly at?: number;
  readonly actor?: string;
}

export const recorded = (
  told: readonly Told[],
  environment: 'live' | 'test' = 'live',
): readonly RecordedMessageEvent[] =>
  told.map(({ event, at = 0, actor = 'worker:deliver-message' }, revision) => {
    const place = {
      id: `event-${revision}`,
      stream: 'message-msg_1',
      position: String(revision).padStart(8, '0'),
    } as const;
    return recordedAs(
      event,
      { ...place, revision },
      { ...contextAt(minute(at)), actor, environment },
    ) as RecordedMessageEvent;
  });

/** A message to `rcp_1`, `rcp_2` and `rcp_3`. */
export const HEAD: MessageBody = {
  kind: 'message',
  messageId: 'msg_1',
  from: { address: 'shop@example.test' },
  subject: 'Order',
  text: 'Thanks',
  recipients: ['ada', 'bob', 'cy'].map((name, index) => ({
    id: `rcp_${index + 1}`,
    kind: 'to',
    address: `${name}@example.net`,
  })),
  replyTo: [],
  headers: {},
  attachments: [],
  tags: [],
  metadata: {},
};

export const reply = (text: string): ReplyText => ({ kind: 'reply', messageId: 'msg_1', text });

/** The explanation of these events, a minute after the last one. */
export const explain = (happenings: readonly RecordedMessageEvent[], more: Partial<MessageFacts> = {}): Explanation => {
  const state = fold(message, happenings);
  if (state.status === 'absent') throw new Error('the message was accepted');
  const last = happenings.at(-1)?.metadata.occurredAt ?? NOW;
  return explainMessage({
    message: state,
    happenings,
    contents: new Map([['content-1', HEAD]]),
    people: new Map(),
    suspensions: new Map(),
    reputations: new Map(),
    isOrganizationSuspended: false,
    circumstances: {
      keyName: 'Shop',
      verification: { method: 'dns', verifiedAt: NOW },
      templateAlias: 'welcome',
      hadHtml: true,
      analysis: null,
      findings: [],
    },
    deliveries: [],
    deliveriesTold: 'all',
    disabledWebhooks: new Set(),
    now: new Date(Date.parse(last) + 60_000).toISOString(),
    ...more,
  });
};
