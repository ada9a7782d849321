import { claimAttempt, recordAttempt } from '../../../src/commands/message/attempt.ts';
import { recordEngagement } from '../../../src/commands/message/recipient.ts';
import { suppressRecipient } from '../../../src/commands/suppression.ts';
import { customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import type { AttemptOutcome } from '../../../src/domain/message/attempt.ts';
import { deliveryId, type WebhookDeliveries } from '../../../src/domain/ports/webhooks.ts';
import type { Service } from './service.ts';

/** Mail with its history, in which every word that identifies a person can be recognised in a response. */

/** Text written by people and by other servers. It contains no address. */
export const PLANTED = {
  subject: 'Secretsubject',
  body: 'Secretbody',
  name: 'Secretname',
  file: 'Secretfile',
  metadata: 'Secretmeta',
  mailbox: 'Secretlocal',
  reply: 'Secretjoe',
  note: 'Secretnote',
  link: 'Secretpath',
  telephone: 'Secretphone',
  webhook: 'Secretanswer',
  captured: 'Secretcaught',
} as const;

export interface PlantedMail {
  /** A message that bounced for one recipient and was deferred for the other. */
  readonly messageId: string;
  /** A message that was delivered, opened and clicked. */
  readonly clickedId: string;
  /** Caused by the bounce. Its evidence is the server's reply. */
  readonly suppressionId: string;
  /** Attempted once, with a response. */
  readonly deliveryId: string;
  readonly capturedId: string;
  /** Rejected because of every field in it. */
  readonly requestId: string;
  readonly tag: string;
}

interface Where {
  readonly key: string;
  readonly domainName: string;
  readonly webhookId: string;
  readonly topicId: string;
}

type Reply = readonly [outcome: 'delivered' | 'deferred' | 'bounced', code: number, text: string];

/** Makes one attempt for all recipients. */
const attempt = async ({ deps: { context } }: Service, messageId: string, said: readonly Reply[]): Promise<void> => {
  const claimed = await claimAttempt(context, { messageId, leaseMs: 60_000, random: 0.5 });
  if (!claimed.claimed) throw new Error('the message could not be claimed');
  const { message, recipientIds } = claimed;
  const replies = said.map(([, , text]) => ({
    id: context.system.uuid(),
    organizationId: message.state.organizationId,
    body: { kind: 'reply' as const, messageId, text },
  }));
  const outcomes = said.map(([outcome, code], index): AttemptOutcome => {
    const replyId = replies[index]?.id ?? '';
    const smtp = { code, enhanced: `${String(code)[0]}.1.1`, mx: 'mx.example.net', tls: null, replyId };
    const about = { recipientId: recipientIds[index] ?? '', smtp };
    if (outcome === 'delivered') return { ...about, outcome };
    return outcome === 'bounced'
      ? { ...about, outcome, reason: 'refused', category: 'no_mailbox' }
      : { ...about, outcome, reason: 'the mail server may accept it later' };
  });
  await recordAttempt(context, { message, attempt: message.state.attempts, outcomes, replies, random: 0.5 });
};

const post = async (service: Service, key: string, url: string, payload: object): Promise<{ readonly id: string }> => {
  const answer = await service.request({ method: 'POST', url, key, payload });
  if (answer.statusCode >= 300) throw new Error(`${url} was answered ${answer.statusCode}: ${answer.body}`);
  return answer.json();
};

const eventsOf = async ({ deps: { context } }: Service, messageId: string) =>
  // The stream of a message holds message events only.
  (await context.store.readStream(messageStream(messageId))) as readonly RecordedEvent<MessageEvent>[];

/** Records a webhook delivery whose endpoint echoed the payload. */
const answerWebhook = async (service: Service, messageId: string, webhookId: string): Promise<string> => {
  const deliveries = service.deps.webhookDeliveries as WebhookDeliveries; // the in-memory implementation is complete
  const [event] = (await eventsOf(service, messageId)).flatMap(customerEvents);
  if (event === undefined) throw new Error('no event of the message was found');
  const id = deliveryId(webhookId, event.id);
  const { position = null, logId = 'planted' } = (await deliveries.checkpoint()) ?? {};
  const to = String(Number(position ?? 0) + 1);
  await deliveries.record({ logId, from: position, to, owed: [{ id, webhookId, event }], now: new Date() });
  const request = { url: `https://example.com/${PLANTED.link}`, headerNames: [], bodyBytes: 2, bodySha256: 'ab' };
  const tried = { deliveryId: id, attempt: 1, at: new Date(), status: 500, durationMs: 12, request, dueAt: new Date() };
  await deliveries.finish([{ ...tried, state: 'failed', text: `no user ${PLANTED.webhook}` }]);
  return id;
};

const suppress = async (service: Service, messageId: string): Promise<void> => {
  for (const event of await eventsOf(service, messageId)) {
    if (event.type === 'RecipientBounced') await suppressRecipient(service.deps.context, event);
  }
};

const click = async (service: Service, messageId: string): Promise<void> => {
  const [accepted] = await eventsOf(service, messageId);
  if (accepted?.type !== 'MessageAccepted') throw new Error('the message was not accepted');
  const recipientId = accepted.data.recipients[0]?.id ?? '';
  const at = new Date().toISOString();
  const by = { at, count: 1, family: 'firefox', network: 'other', machine: null } as const;
  const urls = [`https://shop.example/${PLANTED.link}?of=${PLANTED.mailbox}`, `tel:${PLANTED.telephone}`];
  const engagements = urls.map((url, link) => ({ ...by, click: { link, links: 2, url } }));
  await recordEngagement(service.deps.context, { messageId, recipientId, engagements });
};

/** Sends words in place of addresses, names and numbers. */
const refuse = async (service: Service, key: string): Promise<string> => {
  const { body, mailbox, metadata, name, reply, subject } = PLANTED;
  const wrong = {
    from: mailbox,
    to: [`${reply} at home`, `${name} <${mailbox}@>`],
    subject: `${subject}\r\n`,
    html: `<p>${body}`,
    headers: { [`${name} `]: 'x', Subject: name },
    metadata: { [metadata]: 1 },
    tags: [{ name: `${name} \0`, value: 1 }],
    [`${metadata} of ${reply}`]: name,
  };
  const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload: wrong });
  return String(answer.headers['x-request-id']);
};

/** @param key with all permissions. */
export const plantMail = async (
  service: Service,
  { key, domainName, webhookId, topicId }: Where,
): Promise<PlantedMail> => {
  const { body, captured, file, mailbox, metadata, name, note, reply, subject } = PLANTED;
  const tag = `user:${mailbox}@example.net`;
  const message = {
    from: `${name} <${mailbox}@${domainName}>`,
    to: [`${name} <${mailbox}@example.net>`, `${mailbox}+x@example.net`],
    reply_to: `${mailbox}@example.org`,
    subject: `${subject} for ${mailbox}@example.net`,
    html: `<p>${body}</p>`,
    headers: { 'X-Of': `${mailbox}@example.net` },
    attachments: [
      { filename: `${file}.txt`, content_type: 'text/plain', content: Buffer.from(body).toString('base64') },
    ],
    metadata: { customer: metadata },
    tags: [
      { name: 'user', value: `${mailbox}@example.net` },
      { name: 'encoded', value: `${mailbox}%40example.net` },
      { name: 'campaign', value: 'spring' },
    ],
  };
  const { id: messageId } = await post(service, key, '/v1/messages/send', message);
  const { id: clickedId } = await post(service, key, '/v1/messages/send', { ...message, to: `${mailbox}@example.com` });
  await attempt(service, messageId, [
    ['bounced', 550, `user ${reply} unknown`],
    ['deferred', 452, `mailbox of ${reply} is full`],
  ]);
  await attempt(service, clickedId, [['delivered', 250, `stored for ${reply}`]]);
  await click(service, clickedId);
  await suppress(service, messageId);
  const added = await post(service, key, '/v1/suppressions', {
    address: `${mailbox}@example.com`,
    note: `Asked by ${note}`,
  });
  await post(service, key, `/v1/topics/${topicId}/opt-ins`, {
    addresses: [`${mailbox}@example.com`],
    evidence: `On paper, by ${note}`,
  });
  const { inbox } = service.deps;
  const raw = Buffer.from(`Subject: ${captured}\r\n\r\n${captured}\r\n`);
  const envelope = { environment: 'live', from: `a@${domainName}`, to: [`${captured}@example.org`] } as const;
  await inbox?.store({ ...envelope, raw, receivedAt: new Date() });
  return {
    messageId,
    clickedId,
    suppressionId: added.id,
    deliveryId: await answerWebhook(service, messageId, webhookId),
    capturedId: (await inbox?.list({ limit: 1 }))?.mails[0]?.id ?? '',
    requestId: await refuse(service, key),
    tag,
  };
};
