import { readInbound } from '../../../src/adapters/inbound/read-inbound.ts';
import type { Origin } from '../../../src/commands/execute.ts';
import { pingWebhook, registerWebhook } from '../../../src/commands/webhook.ts';
import { customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import { inboundStream } from '../../../src/domain/kernel/streams.ts';
import type { StoredBody } from '../../../src/domain/ports/contents.ts';
import type { WebhookFormat } from '../../../src/domain/webhook/events.ts';
import { type ReceivedMail, receive } from '../../http/support/received-mail.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { openService } from '../service.ts';
import { receiver } from './opened.ts';
import type { Answer } from './receiver.ts';

const environment = 'live';
export const TO = 'support+42@example.test';
export const PDF = Buffer.from([0, 255, 10, 13, 37]);
export const RAW = [
  'From: =?utf-8?q?Zo=C3=AB_=22Z=22?= <zoe+a@example.net>',
  'To: "Support, Team" <support+42@example.test>, b@example.net',
  'Cc: First <first@example.net>',
  'Reply-To: Zoe <answers@example.net>, c@example.net',
  'Subject: =?utf-8?b?w5xiZXI=?= 42',
  'Date: Mon, 5 Jan 2026 10:00:00 +0100',
  'Message-ID: <1@example.net>',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Grüße 👋',
  '',
  '> Hello',
  '--b',
  'Content-Type: application/pdf; name="../r\u00e9sum\u00e9.pdf"',
  'Content-Disposition: attachment; filename="../résumé.pdf"',
  'Content-ID: <one@example.net>',
  'Content-Transfer-Encoding: base64',
  '',
  PDF.toString('base64'),
  '--b',
  'Content-Type: text/plain',
  'Content-Disposition: attachment',
  '',
  'two',
  '--b--',
  '',
].join('\r\n');

/** A service whose vault forgets on request, and a webhook that gets received mail. @param format undefined: our own. */
export const openMailWebhook = async (format: WebhookFormat | undefined, answer?: (count: number) => Answer) => {
  const vault = createInMemoryContents();
  let removed: StoredBody | null = null;
  const contents: typeof vault = {
    ...vault,
    get: async (ids) => (removed === null ? vault.get(ids) : new Map(ids.map((id) => [id, removed as StoredBody]))),
  };
  const outbox = closedAfterTest(await openService({ contents }));
  const endpoint = await receiver((_post, count) => answer?.(count) ?? { status: 204 });
  outbox.workers().start();
  const { organizationId, context } = outbox;
  const origin: Origin = {
    ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
  };
  const { webhook, secret } = await registerWebhook(context, origin, {
    ...{ url: endpoint.url, events: ['inbound.received'], environment, description: null, format },
  });
  const { references: _r, hops: _h, isAutomatic: _a, ...read } = readInbound({ raw: Buffer.from(RAW), isPlain: false });
  return {
    ...{ outbox, endpoint, secret },
    receive: (more: Partial<ReceivedMail> = {}) =>
      receive(context, { organizationId, environment, domainId: 'dom_1', to: TO, raw: RAW, body: read, ...more }),
    remove: () => {
      removed = { kind: 'expired', at: '2026-01-01T00:00:00.000Z' };
    },
    ping: () => pingWebhook(context, origin, { webhookId: webhook.webhookId, environment }),
    eventOf: async (id: string) => {
      const [recorded] = await context.store.readStream(inboundStream(id));
      const [event] = recorded === undefined ? [] : customerEvents(recorded);
      if (event === undefined) throw new Error('the mail has no event');
      return event;
    },
  };
};
