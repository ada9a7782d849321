import { describe, expect, test, vi } from 'vitest';
import { internalOrigin } from '../../src/commands/execute.ts';
import { resumeOrganization, suspendOrganization, updateOrganization } from '../../src/commands/organization.ts';
import { registerDomain } from '../../src/commands/sending-domain/change-domain.ts';
import { disableWebhook, pauseWebhook, updateWebhook } from '../../src/commands/webhook.ts';
import { LOG_START, type RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { createSendNotices } from '../../src/workers/send-notices.ts';
import type { Service } from './service.ts';
import { receiver, service } from './webhooks/opened.ts';

const originOf = ({ organizationId }: Service) =>
  internalOrigin({ actor: 'operator', organizationId, environment: 'live', causeId: 'test' });

const UNCHANGED = {
  name: undefined,
  contentDays: undefined,
  analysis: undefined,
  htmlValidation: undefined,
  inboundDmarc: undefined,
  timezone: undefined,
  sessionIdleMinutes: undefined,
  sessionHours: undefined,
  customer: undefined,
};

const withContact = (outbox: Service) =>
  updateOrganization(outbox.context, originOf(outbox), {
    changes: { ...UNCHANGED, contact: 'ops@example.org' },
  });

const logOf = async ({ context: { store } }: Service): Promise<readonly RecordedEvent[]> =>
  (await store.readAll({ from: LOG_START, filter: {}, limit: 10_000 })).events;

const accepted = async (outbox: Service) =>
  (await logOf(outbox)).flatMap((event) => (event.type === 'MessageAccepted' ? [event.data] : []));

const noticesOf = (outbox: Service, domain: { id: string; name: string } | null = { id: 'dom_1', name: 'shop.test' }) =>
  createSendNotices({
    ...outbox.context,
    sendingDomains: { sendableOf: () => domain },
    logger: outbox.logger,
    caughtUp: Promise.resolve(),
  });

const disabled = async (outbox: Service, reason: 'failing' | 'requested'): Promise<void> => {
  const { webhook } = await outbox.webhook('http://127.0.0.1:9/', ['message.*']);
  const command = { webhookId: webhook.webhookId, environment: 'live', reason } as const;
  await disableWebhook(outbox.context, originOf(outbox), command);
};

describe('a notice of a paused webhook', () => {
  test('names the expired or revoked key, and what to do', async () => {
    const outbox = await service();
    await withContact(outbox);
    const { webhook } = await outbox.webhook('http://127.0.0.1:9/', ['message.*']);
    const { webhookId } = webhook;
    const byKey = { ...originOf(outbox), actor: 'key:key_1' };
    await updateWebhook(outbox.context, byKey, { webhookId, environment: 'live', events: ['domain.*'] });
    await pauseWebhook(outbox.context, originOf(outbox), { webhookId, environment: 'live', keyId: 'key_1' });
    await noticesOf(outbox)(await logOf(outbox));
    const [message] = await accepted(outbox);
    const contentId = message?.contentId ?? '';
    const stored = (await outbox.context.contents.get([contentId])).get(contentId);
    expect(stored).toMatchObject({ subject: `Webhook ${webhookId} was paused` });
    expect(JSON.stringify(stored)).toContain('key_1');
    expect(JSON.stringify(stored)).toContain(`POST /v1/webhooks/${webhookId}/adopt`);
  });
});

describe('a notice of a suspended organization', () => {
  test('states the reason of the operator and what still works, and later that it may send again', async () => {
    const outbox = await service();
    await withContact(outbox);
    await suspendOrganization(outbox.context, originOf(outbox), 'It sent spam.');
    await resumeOrganization(outbox.context, originOf(outbox), 'The list is clean.');
    await noticesOf(outbox)(await logOf(outbox));
    const ids = (await accepted(outbox)).map(({ contentId }) => contentId);
    const stored = await outbox.context.contents.get(ids);
    expect(ids.map((id) => stored.get(id))).toMatchObject([
      {
        subject: 'Your organization was suspended',
        recipients: [{ address: 'ops@example.org' }],
        text: expect.stringMatching(
          /It sent spam\.[\s\S]*Unsubscribe links still work\.[\s\S]*Only the operator can resume/,
        ),
      },
      { subject: 'Your organization can send again', text: expect.stringContaining('The list is clean.') },
    ]);
  });
});

describe('a notice of a disabled webhook', () => {
  test('is mailed once to the contact, however often its event arrives', async () => {
    const outbox = await service();
    await withContact(outbox);
    await disabled(outbox, 'failing');
    const events = await logOf(outbox);
    for (const react of [noticesOf(outbox), noticesOf(outbox)]) await react(events);
    const [message, ...others] = await accepted(outbox);
    expect(others).toEqual([]);
    expect(message).toMatchObject({ domainId: 'dom_1', fromDomain: 'shop.test', trial: true, stream: 'transactional' });
    const contentId = message?.contentId ?? '';
    expect((await outbox.context.contents.get([contentId])).get(contentId)).toMatchObject({
      from: { address: 'outbox@shop.test' },
      recipients: [{ address: 'ops@example.org', kind: 'to' }],
      subject: expect.stringMatching(/^Webhook whk_\w+ was disabled$/),
      text: expect.stringContaining('accepted nothing for 5 days'),
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
  });

  test('is not mailed if the organization disabled the webhook itself, or has no contact', async () => {
    const outbox = await service();
    await disabled(outbox, 'failing');
    await noticesOf(outbox)(await logOf(outbox));
    await withContact(outbox);
    const before = (await logOf(outbox)).length;
    await disabled(outbox, 'requested');
    await noticesOf(outbox)((await logOf(outbox)).slice(before));
    expect(await accepted(outbox)).toEqual([]);
  });

  test('is logged if no domain may send it', async () => {
    const outbox = await service();
    await withContact(outbox);
    await disabled(outbox, 'failing');
    await noticesOf(outbox, null)(await logOf(outbox));
    expect(await accepted(outbox)).toEqual([]);
    expect(outbox.logger.said('warn')).toContain('cannot mail a notice: no domain can send it');
  });

  test('is caused by an endpoint that answers 410, and sent from a domain of the organization', async () => {
    const outbox = await service();
    const endpoint = await receiver(() => ({ status: 410 }));
    await withContact(outbox);
    await registerDomain(outbox.context, originOf(outbox), { name: 'shop.test' });
    outbox.workers({ capturing: true }).start();
    await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    await outbox.send('ann@example.org', 'test');
    await vi.waitFor(
      async () => expect((await accepted(outbox)).map(({ fromDomain }) => fromDomain)).toContain('shop.test'),
      {
        timeout: 8000,
        interval: 50,
      },
    );
  });
});
