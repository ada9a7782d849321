import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/execute.ts';
import { createOrganization, organizationSecret } from '../../../src/commands/organization.ts';
import { removeSuppression } from '../../../src/commands/suppression.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { returnPath } from '../../../src/domain/message/tokens.ts';
import { type Delivering, openDelivering, statuses, until } from '../delivering.ts';
import { suppressions } from '../suppressions/happenings.ts';
import { BOUNCE_DOMAIN, complaintReport, deliveryReport, openReceiving } from './receiving.ts';
import { envelopeOf, named, openReturning as open, send } from './returning.ts';

const ANN = 'ann@example.org';
const BOB = 'bob@example.org';

const lastOf = async (service: Delivering, id: string) =>
  (await service.dependencies.store.readStream(messageStream(id))).at(-1);

const header = (raw: string, name: string): string =>
  new RegExp(`^${name}: (.*(?:\\r\\n[ \\t].*)*)`, 'im').exec(raw)?.[1] ?? '';

describe('a message', () => {
  test('has its own return address, or that of its only recipient', async () => {
    const service = await open();
    const one = await send(service, ANN);
    const two = await send(service, [ANN, BOB]);
    const secret = await organizationSecret(service.context.secrets, service.organizationId);
    const path = (messageId: string, whose: { readonly recipientIndex: number; readonly sharesDomain?: true }) =>
      `${returnPath(secret, { purpose: 'bounce', messageId, ...whose })}@${BOUNCE_DOMAIN}`;
    expect(one.from).toBe(path(one.id, { recipientIndex: 0 }));
    expect(two.from).toBe(path(two.id, { recipientIndex: 0, sharesDomain: true }));
    expect(header(one.raw, 'From')).toBe('shop@example.test');
  });

  test('returns to its sender without a bounce domain', async () => {
    const service = await openDelivering();
    service.workers().start();
    expect((await send(service, ANN)).from).toBe('shop@example.test');
  });

  test('with managed links has a return address and an unsubscribe address for each recipient', async () => {
    const service = await open();
    const { id } = await send(service, [ANN, BOB], { unsubscribe: 'managed' });
    const [first, second] = service.sink.mails;
    const secret = await organizationSecret(service.context.secrets, service.organizationId);
    const path = (purpose: 'bounce' | 'unsubscribe', recipientIndex: number) =>
      `${returnPath(secret, { purpose, messageId: id, recipientIndex })}@${BOUNCE_DOMAIN}`;
    expect([first?.from, second?.from]).toEqual([path('bounce', 0), path('bounce', 1)]);
    expect(header(second?.raw ?? '', 'List-Unsubscribe')).toContain(`<mailto:${path('unsubscribe', 1)}>`);
  });
});

describe('a delivery report', () => {
  test('changes delivered to bounced, days later, with its text in the vault only', async () => {
    const service = await open();
    const { id, from } = await send(service, ANN);
    service.system.shift(5 * 86_400_000);
    expect(await service.bring(from.toUpperCase(), deliveryReport({ address: ANN }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced']);
    const event = await lastOf(service, id);
    expect(event).toMatchObject({
      type: 'RecipientBounced',
      data: { late: true, category: 'no_mailbox', smtp: { code: 550, enhanced: '5.1.1', mx: 'mx.example.org' } },
      metadata: { actor: 'worker:returned-mail', organizationId: service.organizationId },
    });
    expect(JSON.stringify(event)).not.toContain('ann@');
    const replyId = event?.type === 'RecipientBounced' ? (event.data.smtp.replyId ?? '') : '';
    expect((await service.context.contents.get([replyId])).get(replyId)).toMatchObject({
      kind: 'reply',
      messageId: id,
      text: `550 5.1.1 <${ANN}>: User unknown`,
    });
  });

  test('about several recipients counts for those that it names as failed', async () => {
    const service = await open();
    const { id, from } = await send(service, [ANN, BOB, 'eve@example.org']);
    const report = deliveryReport(
      { address: 'EVE@example.org', status: '5.2.2', diagnostic: 'smtp; 552 5.2.2 mailbox full' },
      { address: BOB, action: 'delivered', status: '2.0.0' },
      { address: 'stranger@example.net' },
      { address: ANN },
    );
    expect(await service.bring(from, named(report, await envelopeOf(service, from)))).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced', 'delivered', 'bounced']);
    expect((await service.message(id)).recipients.map(({ category }) => category)).toEqual([
      ...['no_mailbox', null, 'mailbox_full'],
    ]);
  });

  test('counts once, however often and concurrently it arrives', async () => {
    const service = await open();
    const { id, from } = await send(service, ANN);
    const codes = await Promise.all(
      Array.from({ length: 10 }, () => service.bring(from, deliveryReport({ address: ANN }))),
    );
    expect(new Set(codes)).toEqual(new Set([250]));
    expect(await service.history(id)).toEqual([
      ...['MessageAccepted', 'AttemptStarted', 'RecipientDelivered', 'RecipientBounced'],
    ]);
  });

  test.each([
    ['a delay', deliveryReport({ address: ANN, action: 'delayed', status: '4.4.1' })],
    ['a delivery', deliveryReport({ address: ANN, action: 'delivered', status: '2.0.0' })],
    ['somebody else', deliveryReport({ address: 'stranger@example.net' })],
    ['nobody', deliveryReport({ address: 'no address' })],
    ['nothing', 'Subject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nI am away.\r\n'],
    ['bytes without sense', Buffer.alloc(100_000, 0xfe)],
  ])('of %s is accepted and changes nothing', async (_, raw) => {
    const service = await open();
    const { id, from } = await send(service, [ANN, BOB]);
    expect(await service.bring(from, raw)).toBe(250);
    expect(await statuses(service, id)).toEqual(['delivered', 'delivered']);
  });

  test('that is forged, or for a message of another organization, changes nothing', async () => {
    const service = await open();
    const { id, from } = await send(service, ANN);
    const stranger = await createOrganization(service.context, { name: 'Stranger', ceilings: null });
    const secret = await organizationSecret(service.context.secrets, stranger);
    const forged = returnPath(secret, { purpose: 'bounce', messageId: id, recipientIndex: 0 });
    const nowhere = returnPath(secret, { purpose: 'bounce', messageId: `msg_${'a'.repeat(26)}`, recipientIndex: 0 });
    const changed = from.replace(/^b(.)/, (_, first: string) => `b${first === '0' ? '1' : '0'}`);
    for (const address of [`${forged}@${BOUNCE_DOMAIN}`, `${nowhere}@${BOUNCE_DOMAIN}`, changed]) {
      expect(await service.bring(address, deliveryReport({ address: ANN }))).toBe(250);
    }
    expect(await statuses(service, id)).toEqual(['delivered']);
    const sentence = 'ignored an inbound report: it does not prove that it is about a message of this service';
    expect(service.logger.said('info').filter((said) => said === sentence)).toHaveLength(3);
  });

  test('of 10 MB is read only as far as it counts', async () => {
    const service = await open();
    const { id, from } = await send(service, ANN);
    const report = deliveryReport({ address: ANN });
    const large = report.replace(
      '--B--',
      `--B\r\nContent-Type: message/rfc822\r\n\r\n${'x\r\n'.repeat(3_500_000)}--B--`,
    );
    expect(await service.bring(from, large)).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced']);
  });

  test('is deferred while the log is unavailable, and is not lost', async () => {
    const service = await open();
    const { id, from } = await send(service, ANN);
    let isAway = true;
    const store: EventStore = {
      ...service.dependencies.store,
      append: (append) => (isAway ? Promise.reject(new Error('away')) : service.dependencies.store.append(append)),
    };
    const { bring } = await openReceiving(service, { store });
    expect(await bring(from, deliveryReport({ address: ANN }))).toBe(451);
    expect(await statuses(service, id)).toEqual(['delivered']);
    isAway = false;
    expect(await bring(from, deliveryReport({ address: ANN }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced']);
  });
});

describe('a complaint', () => {
  test('is recorded once, for the recipient of the address that it was sent to', async () => {
    const service = await open();
    const { id, from } = await send(service, ANN);
    for (let time = 0; time < 2; time += 1) expect(await service.bring(from, complaintReport('Subject: x'))).toBe(250);
    expect((await service.message(id)).recipients).toMatchObject([{ status: 'delivered', complained: true }]);
    expect((await service.history(id)).filter((type) => type === 'RecipientComplained')).toHaveLength(1);
  });

  test('to the feedback loop address counts if the quoted message proves its origin', async () => {
    const service = await open();
    const linked = await send(service, ANN, { unsubscribe: 'managed' });
    const plain = await send(service, [ANN, BOB]);
    const link = header(linked.raw, 'List-Unsubscribe').split(',')[0] ?? '';
    await service.bring(`fbl@${BOUNCE_DOMAIN}`, complaintReport(`List-Unsubscribe: ${link}\nSubject: x`));
    expect((await service.message(linked.id)).recipients).toMatchObject([{ complained: true }]);
    const quoted = `Return-Path: <${plain.from}>`;
    await service.bring(`fbl@${BOUNCE_DOMAIN}`, complaintReport(quoted)); // redacted, so it may concern either of two
    expect((await service.message(plain.id)).recipients).toMatchObject([{ complained: false }, { complained: false }]);
    await service.bring(`fbl@${BOUNCE_DOMAIN}`, complaintReport(quoted, `Original-Rcpt-To: <${BOB}>\n`));
    expect((await service.message(plain.id)).recipients).toMatchObject([{ complained: false }, { complained: false }]);
    expect((await service.history(plain.id)).at(-1)).toBe('RecipientReportNoted');
  });

  test('that only names a Message-ID of the service proves nothing', async () => {
    const service = await open();
    const { id } = await send(service, ANN);
    const quoted = `Message-ID: <${id}@example.test>\nTo: ${ANN}\nReturn-Path: <b${'0'.repeat(48)}@${BOUNCE_DOMAIN}>`;
    expect(await service.bring(`fbl@${BOUNCE_DOMAIN}`, complaintReport(quoted, `Original-Rcpt-To: ${ANN}\n`))).toBe(
      250,
    );
    expect((await service.message(id)).recipients).toMatchObject([{ complained: false }]);
  });
});

test('a mail to the List-Unsubscribe address unsubscribes its recipient, whatever its content', async () => {
  const service = await open();
  const { id } = await send(service, [ANN, BOB], { unsubscribe: 'managed' });
  const [, second] = service.sink.mails;
  const address = /mailto:([^>]+)>/.exec(header(second?.raw ?? '', 'List-Unsubscribe'))?.[1] ?? '';
  for (let time = 0; time < 2; time += 1) expect(await service.bring(address, 'Subject: x\r\n\r\n')).toBe(250);
  expect((await service.message(id)).recipients).toMatchObject([
    { unsubscribed: null },
    { unsubscribed: { at: expect.any(String), position: expect.any(String) } },
  ]);
  expect(await lastOf(service, id)).toMatchObject({ type: 'RecipientUnsubscribed', data: { method: 'mail' } });
  await service.bring(
    address.replace(/^u(.)/, (_, first: string) => `u${first === '0' ? '1' : '0'}`),
    'x\r\n\r\n',
  );
  expect((await service.history(id)).filter((type) => type === 'RecipientUnsubscribed')).toHaveLength(1);
});

test('an address removed from the list is suppressed again by a mail to the List-Unsubscribe address', async () => {
  const service = await open();
  const { raw } = await send(service, ANN, { unsubscribe: 'managed' });
  const address = /mailto:([^>]+)>/.exec(header(raw, 'List-Unsubscribe'))?.[1] ?? '';
  const unsubscribe = () => service.bring(address, 'Subject: x\r\n\r\n');
  const listed = async (...types: readonly string[]) =>
    until(async () => expect((await suppressions(service)).map(({ type }) => type)).toEqual(types));
  await unsubscribe();
  await listed('SuppressionAdded');
  service.system.shift(1000);
  const { organizationId } = service;
  const by: Origin = {
    actor: 'key:key_1',
    organizationId,
    requestId: null,
    correlationId: 'test',
    causationId: 'test',
    environment: 'live',
  };
  const suppressionId = (await suppressions(service))[0]?.data.suppressionId ?? '';
  await removeSuppression(service.dependencies, by, { suppressionId, environment: 'live' });
  service.system.shift(1000);
  for (let time = 0; time < 2; time += 1) await unsubscribe();
  await listed('SuppressionAdded', 'SuppressionRemoved', 'SuppressionAdded');
  const id = await service.send(ANN);
  await until(async () => expect(await statuses(service, id)).toEqual(['suppressed']));
});
