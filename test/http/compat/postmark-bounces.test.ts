import { Models, ServerClient } from 'postmark';
import { beforeAll, describe, expect, test } from 'vitest';
import { recordEngagement } from '../../../src/commands/message/recipient.ts';
import { suppressRecipient } from '../../../src/commands/suppression.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { bounce } from '../support/bounced.ts';
import { startDatabaseService } from '../support/database-service.ts';
import { said, useTenant } from './tenant.ts';

/** The published client, unmodified. */

const { now, ask } = useTenant(() => startDatabaseService());

const client = (by = now.key): ServerClient => new ServerClient(by, { useHttps: false, requestHost });
const eventsOf = async (messageId: string): Promise<readonly RecordedEvent[]> =>
  now.service.deps.context.store.readStream(messageStream(messageId));

const send = async (more: object): Promise<string> => {
  const mail = { From: 'a@a.test', To: 'ann@example.org,bob@example.org', Subject: 'Hi', HtmlBody: '<p>Hi</p>' };
  return (await client().sendEmail({ ...mail, ...more } as Models.Message)).MessageID;
};

let requestHost: string;
/** Ids of messages, and of the second recipient of the first. */
let first: string;
let second: string;
let recipientId = '';
/** Day on which they were accepted. */
let today: string;

beforeAll(async () => {
  const url = await now.service.server.listen({ port: 0, host: '127.0.0.1' });
  requestHost = `${url.replace('http://', '')}/compat/postmark`;
  first = await send({ Tag: 'x', Subject: 'First' });
  // One of two recipients.
  recipientId = (await bounce(now.service, first, [0]))[1] ?? '';
  for (const event of await eventsOf(first))
    if (event.type === 'RecipientBounced') await suppressRecipient(now.service.deps.context, event);
  second = await send({ Subject: 'Second', MessageStream: 'broadcast', To: 'carol@example.org' });
  await bounce(now.service, second);

  today = (await client().getOutboundMessageDetails(first)).ReceivedAt.slice(0, 10);

  const opened = await send({ Tag: 'y', To: 'dan@example.org', TrackOpens: true, TrackLinks: 'HtmlOnly' });
  const [to = ''] = await bounce(now.service, opened, [0]);
  // An open right after the delivery is attributed to a machine.
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const by = { at, count: 1, family: 'firefox', network: 'other', machine: null } as const;
  const click = { link: 0, links: 1, url: 'https://shop.example/?a=b' };
  await recordEngagement(now.service.deps.context, {
    messageId: opened,
    recipientId: to,
    engagements: [
      { ...by, click: null },
      { ...by, click },
    ],
  });
});

describe('postmark', () => {
  test('getBounces and getBounce: recipients that bounced, with what the server said', async () => {
    const { TotalCount, Bounces } = await client().getBounces();
    expect(TotalCount).toBe(2);
    expect(Bounces.map(({ MessageID, Email }) => [MessageID, Email])).toEqual([
      [second, 'carol@example.org'],
      [first, 'bob@example.org'],
    ]);
    const one = Bounces[1] as Models.Bounce;
    expect(one).toEqual({
      RecordType: 'Bounce',
      ID: `${first}.${recipientId}`,
      Type: 'HardBounce',
      TypeCode: 1,
      Name: 'Hard bounce',
      Tag: 'x',
      MessageID: first,
      ServerID: 0,
      Description: 'no such user',
      Details: expect.any(String),
      Email: 'bob@example.org',
      From: 'a@a.test',
      BouncedAt: expect.stringMatching(/^\d{4}-/),
      DumpAvailable: false,
      Inactive: true,
      CanActivate: false,
      Subject: 'First',
      MessageStream: 'outbound',
    });
    expect(await client().getBounce(one.ID)).toEqual(one);
    expect(Bounces[0]).toMatchObject({ Inactive: false, MessageStream: 'broadcast' });
    await expect(client().getBounceDump(one.ID)).rejects.toMatchObject({
      message: expect.stringContaining('is not supported. Use GET /v1/messages?status=bounced'),
    });
  });

  test('getBounces: by page and filter', async () => {
    for (const [filter, found] of [
      [{ count: 1, offset: 0 }, [second]],
      [{ count: 1, offset: 1 }, [first]],
      [{ offset: 2 }, []],
      [{ tag: 'x' }, [first]],
      [{ emailFilter: 'carol@example.org' }, [second]],
      [{ emailFilter: 'ann@example.org' }, [first]],
      [{ messageStream: 'broadcast' }, [second]],
      [{ fromDate: today, toDate: today }, [second, first]],
      [{ toDate: '2020-01-01' }, []],
      [{ type: Models.BounceType.HardBounce }, [second, first]],
      [{ type: Models.BounceType.SpamComplaint }, []],
      [{ type: Models.BounceType.SoftBounce }, []],
      [{ type: Models.BounceType.Unsubscribe }, []],
    ] as const)
      expect([filter, (await client().getBounces(filter)).Bounces.map(({ MessageID }) => MessageID)]).toEqual([
        filter,
        found,
      ]);
  });

  test('getMessageOpens, getMessageClicks: the newest, and those of one message', async () => {
    const { TotalCount, Clicks } = await client().getMessageClicks();
    const [click] = Clicks;
    expect([TotalCount, click]).toEqual([
      1,
      expect.objectContaining({
        RecordType: 'Click',
        ClickLocation: 'HTML',
        OriginalLink: 'https://shop.example/?a=b',
        Recipient: 'dan@example.org',
        Tag: 'y',
        Client: { Name: 'firefox', Company: '', Family: 'firefox' },
      }),
    ]);
    const id = click?.MessageID ?? '';
    expect((await client().getMessageClicksForSingleMessage(id)).Clicks).toEqual(Clicks);
    expect((await client().getMessageClicksForSingleMessage(first)).Clicks).toEqual([]);
    const { Opens } = await client().getMessageOpensForSingleMessage(id);
    expect(Opens).toMatchObject([{ FirstOpen: true, MessageID: id }]);
    expect((await client().getMessageClicks({ tag: 'x' })).Clicks).toEqual([]);
    await expect(client().getMessageClicks({ count: 100, offset: 1 })).rejects.toMatchObject({
      message: 'offset must be 0: read earlier clicks with GET /v1/events',
    });
  });

  test('counts by day: sends, bounces, complaints, opens and clicks', async () => {
    // The last day of a period is part of it.
    const period = { fromDate: today, toDate: today };
    expect(await client().getSentCounts(period)).toEqual({ Days: [{ Date: today, Sent: 4 }], Sent: 4 });
    expect(await client().getBounceCounts(period)).toEqual({
      Days: [{ Date: today, HardBounce: 2, SoftBounce: 0 }],
      HardBounce: 2,
      SoftBounce: 0,
    });
    expect(await client().getSpamComplaintsCounts(period)).toMatchObject({ SpamComplaint: 0 });
    expect(await client().getEmailOpenCounts(period)).toMatchObject({ Opens: 1, Unique: 1 });
    expect(await client().getClickCounts(period)).toEqual({
      Days: [{ Date: today, Clicks: 1, Unique: 1 }],
      Clicks: 1,
      Unique: 1,
    });
    expect(await client().getSentCounts({ tag: 'x' })).toMatchObject({ Sent: 2 });
    expect(await client().getSentCounts({ messageStream: 'broadcast' })).toMatchObject({ Sent: 1 });
    expect(await client().getOutboundOverview(period)).toMatchObject({ Sent: 4, Bounced: 2, BounceRate: 50 });
    expect((await client().getDeliveryStatistics()).Bounces[1]).toMatchObject({ Type: 'HardBounce', Count: 2 });
    await expect(client().getEmailOpenPlatformUsage()).rejects.toMatchObject({
      message: expect.stringContaining('is not supported. Use GET /v1/stats'),
    });
  });

  test.each([
    ['/bounces?count=101', 'count must be'],
    ['/bounces?offset=-1', 'offset must be'],
    ['/bounces?type=constructor', 'type must be HardBounce, SoftBounce, SpamComplaint, Unsubscribe'],
    ['/bounces?emailFilter=a%0d%0ab', 'emailFilter must be an email address'],
    ['/bounces?tag=%00', 'tag'],
    ['/bounces?fromDate=yesterday', 'fromDate must be'],
    ['/bounces?toDate=2026-02-31', 'toDate must be'], // JavaScript reads it as a day in March
    ['/bounces?messageStream=other', 'messageStream must be outbound or broadcast'],
    ['/bounces?inactive=true', 'inactive is not'],
    ['/stats/outbound/sends?fromDate=x', 'fromDate must be'],
    ['/stats/outbound/clicks?toDate=9999-12-31', 'toDate must be'],
    ['/stats/outbound/spam?messageStream=x', 'messageStream must be'],
    ['/stats/outbound/opens?other=x', 'other is not'],
    ['/messages/outbound/clicks?count=101', 'count must be at most 100'],
  ])('refuses %s with the names of the program', async (path, sentence) => {
    const answer = await ask('postmark', 'GET', path);
    expect([answer.status, said('postmark', answer)]).toEqual([422, expect.stringContaining(sentence)]);
  });

  test.each(['1', 'msg_none', '%00', 'a.b.c', '..%2f'])('finds no bounce %s', async (id) => {
    expect((await ask('postmark', 'GET', `/bounces/${id}`)).status).toBe(422);
  });

  test('finds no bounce with a long id', async () => {
    expect((await ask('postmark', 'GET', `/bounces/${'x'.repeat(5_000)}.y`)).status).toBeGreaterThanOrEqual(400);
  });

  test('finds no bounce of a delivered recipient, and shows nothing of another organization', async () => {
    const [accepted] = await eventsOf(first);
    if (accepted?.type !== 'MessageAccepted') throw new Error('the message was not accepted');
    const { id: delivered = '' } = accepted.data.recipients[0] ?? {};
    for (const id of [`${first}.${delivered}`, `${second}.${recipientId}`, first])
      await expect(client().getBounce(id as never)).rejects.toMatchObject({ code: 701, statusCode: 422 });

    const other = await now.service.makeOrganization();
    const { value } = await now.service.makeKey(other, await now.service.makeDomain(other, 'b.test'));
    expect(await client(value).getBounces()).toEqual({ TotalCount: 0, Bounces: [] });
    expect(await client(value).getMessageClicks()).toEqual({ TotalCount: 0, Clicks: [] });
    expect(await client(value).getSentCounts()).toMatchObject({ Sent: 0 });
    await expect(client(value).getBounce(`${first}.${recipientId}` as never)).rejects.toMatchObject({ code: 701 });
  });
});
