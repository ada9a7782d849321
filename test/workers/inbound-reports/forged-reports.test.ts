import { describe, expect, test } from 'vitest';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { returnPath } from '../../../src/domain/message/tokens.ts';
import { isSuppressing } from '../../../src/domain/suppression/suppression.ts';
import { type Delivering, openDelivering, statuses } from '../delivering.ts';
import { BOUNCE_DOMAIN, complaintReport, deliveryReport } from './receiving.ts';
import { envelopeOf, named, openReturning, send } from './returning.ts';

const ANN = 'ann@example.org';
const BOB = 'bob@example.org';
const EVE = 'eve@example.net';

const happenings = (service: Delivering, id: string) => service.dependencies.store.readStream(messageStream(id));

/** The last event of a message, and whether it suppresses a recipient. */
const last = async (service: Delivering, id: string) => {
  const event = (await happenings(service, id)).at(-1);
  return {
    type: event?.type,
    ...(event?.type === 'RecipientReportNoted' ? { doubt: event.data.doubt } : {}),
    suppresses: event !== undefined && isSuppressing(event),
  };
};

const UNCONFIRMED = { type: 'RecipientReportNoted', doubt: 'unconfirmed', suppresses: false };
const BOUNCED = { type: 'RecipientBounced', suppresses: true };

describe('a message to several domains', () => {
  test('is sent as one copy to each, which proves nothing about the others', async () => {
    const service = await openReturning();
    const { id } = await send(service, [ANN, EVE, BOB]);
    expect(service.sink.mails.map(({ to }) => to)).toEqual([[ANN, BOB], [EVE]]);
    const [, eves] = service.sink.mails;
    expect(await service.bring(eves?.from ?? '', deliveryReport({ address: ANN }, { address: EVE }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['delivered', 'bounced', 'delivered']);
    await service.bring(eves?.from ?? '', complaintReport('Subject: x', `Original-Rcpt-To: <${ANN}>\n`));
    expect((await service.message(id)).recipients.map(({ complained }) => complained)).toEqual([false, true, false]);
  });

  test('is sent as one mail without a bounce domain', async () => {
    const service = await openDelivering();
    service.workers().start();
    await send(service, [ANN, EVE, BOB]);
    expect(service.sink.mails.map(({ to }) => to)).toEqual([[ANN, EVE, BOB]]);
  });
});

describe('a report that a recipient of the same domain could have forged', () => {
  test('is recorded as unconfirmed: no status, no customer event and no suppression follows', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, [ANN, BOB]);
    const events = async () => (await happenings(service, id)).flatMap(customerEvents);
    const before = await events();
    await service.bring(from, deliveryReport({ address: ANN }));
    expect(await last(service, id)).toEqual(UNCONFIRMED);
    await service.bring(from, complaintReport('Subject: x', `Original-Rcpt-To: <${BOB}>\n`));
    expect(await last(service, id)).toEqual(UNCONFIRMED);
    const { recipients } = await service.message(id);
    expect(recipients).toMatchObject([
      { status: 'delivered', complained: false },
      { status: 'delivered', complained: false },
    ]);
    expect(await events()).toEqual(before);
    const recorded = await happenings(service, id);
    for (let time = 0; time < 3; time += 1) await service.bring(from, deliveryReport({ address: ANN }));
    expect(await happenings(service, id)).toHaveLength(recorded.length);
  });

  test('is trusted when it names the envelope, which no recipient learns', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, [ANN, BOB]);
    const envelopeId = await envelopeOf(service, from);
    expect(service.sink.mails[0]?.raw).not.toContain(envelopeId);
    await service.bring(from, named(deliveryReport({ address: ANN }), envelopeId.toUpperCase()));
    expect(await last(service, id)).toEqual(BOUNCED);
  });

  test('is not trusted with the name of another envelope, or an invented one', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, [ANN, BOB]);
    const address = from.split('@')[0] ?? '';
    const names = [
      await envelopeOf(service, from, { recipientIndex: 1 }),
      await envelopeOf(service, from, { sharesDomain: false }),
      await envelopeOf(service, from, { recipientIndex: null }),
      await envelopeOf(service, from, { purpose: 'unsubscribe' }),
      ...[address, `e${address.slice(1)}`, `e${'0'.repeat(48)}`, '', `<${id}@example.test>`, 'x'.repeat(100_000)],
    ];
    await service.bring(from, named(deliveryReport({ address: ANN }), names[0] ?? ''));
    expect(await last(service, id)).toEqual(UNCONFIRMED);
    for (const name of names) {
      const other = await send(service, [ANN, BOB]);
      await service.bring(other.from, named(deliveryReport({ address: BOB }), name));
      expect(await last(service, other.id)).toEqual(UNCONFIRMED);
    }
  });

  test('is trusted from a recipient with a separate copy', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, ANN);
    await service.bring(from, deliveryReport({ address: ANN }));
    expect(await last(service, id)).toEqual(BOUNCED);
  });
});

describe('a report about an address behind the recipient', () => {
  const LIST = 'team@example.org';
  const statusOf = (fields: string): string =>
    deliveryReport({ address: LIST }).replace(/Final-Recipient:.*(?:\r?\n)/, fields);

  test.each([
    ['a member of a list', `Original-Recipient: rfc822; ${LIST}\r\nFinal-Recipient: rfc822; dead@example.net\r\n`],
    ['an alias of Sendmail', `Final-Recipient: RFC822; ${LIST}\r\nX-Actual-Recipient: RFC822; dead@example.net\r\n`],
    ['an address outside ASCII', `Final-Recipient: utf-8; d\u00e9ad@example.net\r\n`],
  ])('%s is recorded, keeps the recipient delivered and suppresses no address', async (_, fields) => {
    const service = await openReturning();
    const { id, from } = await send(service, LIST);
    await service.bring(from, statusOf(fields));
    expect(await last(service, id)).toEqual({
      type: 'RecipientReportNoted',
      doubt: 'address_behind',
      suppresses: false,
    });
    expect(await statuses(service, id)).toEqual(['delivered']);
  });

  test.each([
    ['in other letters', 'Final-Recipient: RFC822;<TEAM@Example.ORG>\r\n'],
    ['outside ASCII', `Final-Recipient: utf-8; ${LIST}\r\n`],
    ['of another type', 'Final-Recipient: X-LOCAL; dead@host.local\r\n'],
    ['not named', 'Action: failed\r\n'],
    ['on its host', `Final-Recipient: rfc822; ${LIST}\r\nX-Actual-Recipient: rfc822; team@mail1.example.org\r\n`],
  ])('is not assumed if the failed address is the recipient’s, %s', async (_, fields) => {
    const service = await openReturning();
    const { id, from } = await send(service, LIST);
    await service.bring(from, statusOf(fields));
    expect(await last(service, id)).toEqual(BOUNCED);
  });

  test('counts as the recipient’s own with a domain in U-labels', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, 'team@xn--mnchen-3ya.example');
    await service.bring(from, statusOf('Final-Recipient: utf-8; Team@M\\x{dc}nchen.example\r\n'));
    expect(await last(service, id)).toEqual(BOUNCED);
  });
});

test('a return address without a copy concerns all recipients, and proves nothing about any', async () => {
  const service = await openReturning();
  const { id } = await send(service, [ANN, EVE]);
  const secret = await organizationSecret(service.context.secrets, service.organizationId);
  const address = `${returnPath(secret, { purpose: 'bounce', messageId: id, recipientIndex: null })}@${BOUNCE_DOMAIN}`;
  await service.bring(address, deliveryReport({ address: EVE }));
  expect(await statuses(service, id)).toEqual(['delivered', 'delivered']);
  expect(await last(service, id)).toEqual(UNCONFIRMED);
});
