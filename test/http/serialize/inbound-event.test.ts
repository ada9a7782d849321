import { expect, test } from 'vitest';
import { customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import type { ReceiveInbound } from '../../../src/domain/inbound/inbound.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { InboundBody } from '../../../src/domain/ports/contents.ts';
import { maskContents } from '../../../src/http/auth/permissions.ts';
import { eventSchema } from '../../../src/http/resources/events/event.ts';
import { serializeEvents } from '../../../src/http/resources/events/serialize-events.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { contextAt, NOW, recordedAs } from '../../support/specification.ts';

const DATA: ReceiveInbound = {
  ...{ inboundId: 'inb_1', domainId: 'dom_1', contentId: 'content-1', rawId: 'content-2', bytes: 4096, sha256: 'ab' },
  ...{ toDigest: 'd', fromDigests: [], routeId: 'irt_1', action: 'webhook', webhookId: 'whk_1' },
  verdicts: { spf: 'pass', dkim: 'fail', dmarc: 'fail', arc: 'none' },
  ...{ inReplyToMessageId: 'msg_1', isMarked: true },
};
const BODY: InboundBody = {
  ...{ kind: 'inbound', inboundId: 'inb_1', envelope: { from: 'ann@example.net', to: 'support@example.test' } },
  ...{ from: [{ name: 'Ann, B.', address: 'ann@example.net' }], to: [], cc: [], replyTo: [], subject: 'Hello' },
  ...{ date: null, internetMessageId: null, headers: [], text: 'Hi', html: '<p>Hi</p>', sanitizedHtml: null },
  reply: 'Hi',
  attachments: [{ part: 3, filename: 'a.pdf', contentType: 'application/pdf', bytes: 12, contentId: null }],
  problems: [],
};

const serialized = async (isStored: boolean) => {
  const contents = createInMemoryContents();
  if (isStored) await contents.put([{ id: 'content-1', organizationId: 'org_mine', body: BODY }]);
  const event = recordedAs(
    { type: 'InboundReceived', data: DATA },
    { id: '0198f5a4-0000-7000-8000-000000000009', stream: 'inbound-inb_1' },
    { ...contextAt(NOW, 'org_mine'), environment: 'live' },
  ) as RecordedEvent;
  const [one] = await serializeEvents(contents, customerEvents(event));
  return eventSchema.parse(one);
};

const FACTS = {
  ...{ inbound_id: 'inb_1', domain_id: 'dom_1', size_bytes: 4096, marked: true, automatic: false },
  ...{ action: 'webhook', route_id: 'irt_1', in_reply_to_message_id: 'msg_1' },
  verdicts: { spf: 'pass', dkim: 'fail', dmarc: 'fail', arc: 'none' },
};

test('an event about received mail shows who sent it, and no bodies', async () => {
  expect(await serialized(true)).toMatchObject({
    type: 'inbound.received',
    data: {
      ...FACTS,
      envelope: { from: 'ann@example.net', to: 'support@example.test' },
      from: [{ name: 'Ann, B.', address: 'ann@example.net' }],
      subject: 'Hello',
      attachments: [{ filename: 'a.pdf', content_type: 'application/pdf', size_bytes: 12, content_id: null }],
    },
  });
});

test('roles without access to contents see neither the sender nor the subject', async () => {
  const masked = JSON.stringify(maskContents(await serialized(true)));
  for (const secret of ['Ann', 'ann@', 'Hello', 'a.pdf', 'support@']) expect(masked).not.toContain(secret);
  expect(masked).toContain('***@example.net');
});

test('an event about received mail whose content was removed keeps its facts', async () => {
  expect((await serialized(false)).data).toEqual({
    ...FACTS,
    envelope: null,
    from: [],
    subject: null,
    attachments: [],
  });
});
