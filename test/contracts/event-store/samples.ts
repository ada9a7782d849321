import { randomUUID } from 'node:crypto';
import type {
  Append,
  EventContext,
  NewEvent,
  RecordedEvent,
  StreamName,
} from '../../../src/domain/kernel/event-store.ts';

export const aContext: EventContext = {
  $correlationId: 'req_1',
  $causationId: 'req_1',
  occurredAt: '2026-11-20T10:00:00.000Z',
  actor: 'key:key_1',
  organizationId: 'org_1',
  environment: 'live',
  requestId: 'req_1',
};

/** A stream that no other test writes to. */
export const newStream = (category = 'apiKey'): StreamName => `${category}-${randomUUID().replaceAll('-', '')}`;

/** A small event that is identified by `text`. */
export const keyRevoked = (text: string): NewEvent => ({
  id: randomUUID(),
  type: 'KeyRevoked',
  data: { keyId: text },
});

/** Creates `count` small events named `<prefix>0`, `<prefix>1`, … */
export const events = (count: number, prefix = 'e'): readonly NewEvent[] =>
  Array.from({ length: count }, (_, index) => keyRevoked(`${prefix}${index}`));

/** An event of about `bytes` of data. */
export const largeEvent = (bytes: number): NewEvent => ({
  id: randomUUID(),
  type: 'WebhookRegistered',
  data: {
    webhookId: 'whk_1',
    environment: 'live',
    url: 'https://example.com/',
    events: ['message.*'],
    description: 'x'.repeat(bytes - 200),
    secretId: 's',
  },
});

export const first = (stream: StreamName, newEvents: readonly NewEvent[]): Append => ({
  stream,
  expected: 'no-stream',
  events: newEvents,
  context: aContext,
});

export const next = (stream: StreamName, expected: number, newEvents: readonly NewEvent[]): Append => ({
  stream,
  expected,
  events: newEvents,
  context: aContext,
});

export const idsOf = (some: readonly { readonly id: string }[]): readonly string[] => some.map(({ id }) => id);

/** The text passed to `keyRevoked`, or the type of another event. */
export const textsOf = (recorded: readonly RecordedEvent[]): readonly string[] =>
  recorded.map((event) => (event.type === 'KeyRevoked' ? event.data.keyId : event.type));
