import { describe, expect, test } from 'vitest';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { type ReturnToken, readReturnPath, returnPath } from '../../../src/domain/message/return-path.ts';
import { messageStream } from '../../../src/domain/streams.ts';
import { isSuppressing } from '../../../src/domain/suppression/suppressing-event.ts';
import { type Delivering, openDelivering, statuses } from '../delivering.ts';
import { BOUNCE_DOMAIN, complaintReport, deliveryReport } from './receiving.ts';
import { openReturning, send } from './returning.ts';

const ANN = 'ann@example.org';
const BOB = 'bob@example.org';
const EVE = 'eve@example.net';

const happenings = (service: Delivering, id: string) => service.dependencies.store.readStream(messageStream(id));

/** What came back last, and whether it suppresses anybody. */
const last = async (service: Delivering, id: string) => {
  const event = (await happenings(service, id)).at(-1);
  return {
    type: event?.type,
    shared: event?.data !== undefined && 'shared' in event.data,
    suppresses: event !== undefined && isSuppressing(event),
  };
};

const named = (report: string, envelopeId: string): string =>
  report.replace('Reporting-MTA:', `Original-Envelope-Id: ${envelopeId}\r\nReporting-MTA:`);

/** What servers are told of the copy that came to this address, whatever else is changed about it. */
const envelopeOf = async (service: Delivering, from: string, changed: Partial<ReturnToken> = {}): Promise<string> => {
  const token = readReturnPath(from.split('@')[0] ?? '');
  if (token === null) throw new Error('no address of ours');
  const secret = await organizationSecret(service.context.secrets, service.organizationId);
  return returnPath(secret, { ...token, purpose: 'envelope', ...changed });
};

describe('a message to several domains', () => {
  test('goes as one copy to each, which proves nothing about the others', async () => {
    const service = await openReturning();
    const { id } = await send(service, [ANN, EVE, BOB]);
    expect(service.sink.mails.map(({ to }) => to)).toEqual([[ANN, BOB], [EVE]]);
    const [, eves] = service.sink.mails;
    expect(await service.bring(eves?.from ?? '', deliveryReport({ address: ANN }, { address: EVE }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['delivered', 'bounced', 'delivered']);
    await service.bring(eves?.from ?? '', complaintReport('Subject: x', `Original-Rcpt-To: <${ANN}>\n`));
    expect((await service.message(id)).recipients.map(({ complained }) => complained)).toEqual([false, true, false]);
  });

  test('goes as one mail without a bounce domain', async () => {
    const service = await openDelivering();
    service.workers().start();
    await send(service, [ANN, EVE, BOB]);
    expect(service.sink.mails.map(({ to }) => to)).toEqual([[ANN, EVE, BOB]]);
  });
});

describe('a report that a recipient of the same domain could have forged', () => {
  test('is recorded, and suppresses no address', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, [ANN, BOB]);
    await service.bring(from, deliveryReport({ address: ANN }));
    expect(await statuses(service, id)).toEqual(['bounced', 'delivered']);
    expect(await last(service, id)).toEqual({ type: 'RecipientBounced', shared: true, suppresses: false });
    await service.bring(from, complaintReport('Subject: x', `Original-Rcpt-To: <${BOB}>\n`));
    expect(await last(service, id)).toEqual({ type: 'RecipientComplained', shared: true, suppresses: false });
  });

  test('is trusted when it names the envelope, which no recipient learns', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, [ANN, BOB]);
    const envelopeId = await envelopeOf(service, from);
    expect(service.sink.mails[0]?.raw).not.toContain(envelopeId);
    await service.bring(from, named(deliveryReport({ address: ANN }), envelopeId.toUpperCase()));
    expect(await last(service, id)).toEqual({ type: 'RecipientBounced', shared: false, suppresses: true });
  });

  test('is not trusted with the name of another envelope, or a made-up one', async () => {
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
    expect(await last(service, id)).toMatchObject({ type: 'RecipientBounced', shared: true });
    for (const name of names) {
      const other = await send(service, [ANN, BOB]);
      await service.bring(other.from, named(deliveryReport({ address: BOB }), name));
      expect(await last(service, other.id)).toMatchObject({ type: 'RecipientBounced', shared: true });
    }
  });

  test('is trusted from a recipient with a copy of its own', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, ANN);
    await service.bring(from, deliveryReport({ address: ANN }));
    expect(await last(service, id)).toEqual({ type: 'RecipientBounced', shared: false, suppresses: true });
  });
});

test('a return address without a copy is about all recipients, and suppresses none', async () => {
  const service = await openReturning();
  const { id } = await send(service, [ANN, EVE]);
  const secret = await organizationSecret(service.context.secrets, service.organizationId);
  const address = `${returnPath(secret, { purpose: 'bounce', messageId: id, recipientIndex: null })}@${BOUNCE_DOMAIN}`;
  await service.bring(address, deliveryReport({ address: EVE }));
  expect(await statuses(service, id)).toEqual(['delivered', 'bounced']);
  expect(await last(service, id)).toEqual({ type: 'RecipientBounced', shared: true, suppresses: false });
});
