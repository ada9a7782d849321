import { Models, ServerClient } from 'postmark';
import { beforeAll, describe, expect, test } from 'vitest';
import { startDatabaseService } from '../support/database-service.ts';
import { said, useTenant } from './tenant.ts';

/** The published client, unmodified. */

const { now, ask } = useTenant(() => startDatabaseService());

let requestHost: string;
beforeAll(async () => {
  const url = await now.service.server.listen({ port: 0, host: '127.0.0.1' });
  requestHost = `${url.replace('http://', '')}/compat/postmark/`;
});

const client = (by = now.key): ServerClient => new ServerClient(by, { useHttps: false, requestHost });
const mail = (more: object) =>
  ({ From: 'a@a.test', To: 'b@example.org', Subject: 'Hi', TextBody: 'Hi', ...more }) as Models.Message;
const ours = async (url: string) => (await now.service.request({ url, key: now.key })).json();
const post = (url: string, payload: object) => now.service.request({ method: 'POST', url, key: now.key, payload });

describe('postmark', () => {
  test('lists messages by page and filter', async () => {
    const ids: string[] = [];
    for (const [Subject, Tag] of [
      ['One', 'x'],
      ['Two', 'x'],
      ['Three', 'y'],
    ])
      ids.push((await client().sendEmail(mail({ Subject, Tag, Cc: 'c@example.org', Metadata: { n: '1' } }))).MessageID);
    const first = await client().getOutboundMessages({ count: 2, offset: 0 });
    expect(first.TotalCount).toBe(3);
    expect(first.Messages.map(({ MessageID }) => MessageID)).toEqual([ids[2], ids[1]]);
    expect(first.Messages[1]).toMatchObject({
      Tag: 'x',
      To: [{ Email: 'b@example.org', Name: null }],
      Cc: [{ Email: 'c@example.org', Name: null }],
      Bcc: [],
      Recipients: ['b@example.org', 'c@example.org'],
      From: 'a@a.test',
      Subject: 'Two',
      Metadata: { n: '1' },
      MessageStream: 'outbound',
      Sandboxed: false,
    });
    const second = await client().getOutboundMessages({ count: 2, offset: 2 });
    expect([second.TotalCount, second.Messages.map(({ MessageID }) => MessageID)]).toEqual([3, [ids[0]]]);
    for (const [filter, found] of [
      [{ tag: 'x' }, [ids[1], ids[0]]],
      [{ subject: 'Three' }, [ids[2]]],
      [{ recipient: 'nobody@example.org' }, []],
      [{ fromEmail: 'a@a.test', messageStream: 'outbound', fromDate: '2020-01-01' }, ids.toReversed()],
      [{ messageStream: 'broadcast' }, []],
      [{ toDate: '2020-01-01' }, []],
    ] as const)
      expect((await client().getOutboundMessages(filter)).Messages.map(({ MessageID }) => MessageID)).toEqual(found);
  });

  test('names the parameters of the program in errors', async () => {
    for (const [query, sentence] of [
      ['fromDate=yesterday', 'fromDate must be'],
      ['count=501', 'count must be'],
      ['offset=-1', 'offset must be'],
      ['messageStream=other', 'messageStream must be outbound or broadcast'],
      ['status=sent', 'status is not'],
      ['recipient=a%0d%0ab', 'recipient must be an email address'],
      ['fromEmail=%00', 'fromEmail'],
    ])
      expect(said('postmark', await ask('postmark', 'GET', `/messages/outbound?${query}`))).toContain(sentence);
    await expect(client().getSuppressions('other')).rejects.toMatchObject({
      message: 'messageStream must be outbound or broadcast',
    });
  });

  test('creates, lists and deletes suppressions of a stream', async () => {
    const create = await client().createSuppressions('broadcast', {
      Suppressions: [{ EmailAddress: 'ann@example.net' }, { EmailAddress: 'bob@example.net' }],
    });
    expect(create.Suppressions).toEqual([
      { EmailAddress: 'ann@example.net', Status: 'Suppressed', Message: null },
      { EmailAddress: 'bob@example.net', Status: 'Suppressed', Message: null },
    ]);
    expect((await ours('/v1/suppressions?address=ann@example.net')).data).toMatchObject([{ scope: 'bulk' }]);
    await post('/v1/suppressions/import', { csv: 'address,reason\ncarol@example.net,complaint\n' });
    const { Suppressions: listed } = await client().getSuppressions('broadcast');
    expect(listed.map((one) => [one.EmailAddress, one.SuppressionReason, one.Origin]).sort()).toEqual([
      ['ann@example.net', 'ManualSuppression', 'Customer'],
      ['bob@example.net', 'ManualSuppression', 'Customer'],
      ['carol@example.net', 'SpamComplaint', 'Recipient'],
    ]);
    const { Suppressions: outbound } = await client().getSuppressions('outbound');
    expect(outbound.map(({ EmailAddress }) => EmailAddress)).toEqual(['carol@example.net']);
    const { Suppressions: complaints } = await client().getSuppressions('broadcast', {
      suppressionReason: Models.SuppressionReason.SpamComplaint,
    } as never);
    expect(complaints.map(({ EmailAddress }) => EmailAddress)).toEqual(['carol@example.net']);
    const { Suppressions: one } = await client().getSuppressions('broadcast', {
      emailAddress: 'ANN@example.net',
    } as never);
    expect(one).toHaveLength(1);

    const removed = await client().deleteSuppressions('broadcast', {
      Suppressions: [
        { EmailAddress: 'ann@example.net' },
        { EmailAddress: 'carol@example.net' },
        { EmailAddress: 'nobody' },
      ],
    });
    expect(removed.Suppressions.map(({ Status }) => Status)).toEqual(['Deleted', 'Failed', 'Failed']);
    expect(removed.Suppressions.map(({ Message }) => Message).slice(1)).toEqual([
      expect.stringContaining('also suppressed for another reason or stream (complaint, all)'),
      expect.stringContaining('EmailAddress is not an email address'),
    ]);
    expect((await client().getSuppressions('broadcast')).Suppressions).toHaveLength(2);
    // Bob is on the list of broadcasts only, which a request about outbound mail does not change.
    await client().deleteSuppressions('outbound', { Suppressions: [{ EmailAddress: 'bob@example.net' }] });
    expect((await client().getSuppressions('broadcast')).Suppressions).toHaveLength(2);
  });

  test.each([
    [{}, 'Suppressions must be an array'],
    [{ Suppressions: [] }, 'Suppressions must not be empty'],
    [{ Suppressions: Array.from({ length: 51 }, () => ({})) }, 'Suppressions must have at most 50 items'],
    [{ Suppressions: [{ EmailAddress: 7 }] }, 'Suppressions[0].EmailAddress is required'],
    [{ Suppressions: [{ EmailAddress: 'x\r\nBcc: a@b.test' }] }, 'Suppressions[0].EmailAddress'],
    [{ Suppressions: [7] }, 'body must be an object'],
    [[], 'body must be an object'],
  ])('refuses to suppress %j', async (payload, sentence) => {
    const answer = await ask('postmark', 'POST', '/message-streams/outbound/suppressions', { payload });
    expect([answer.status, said('postmark', answer)]).toEqual([422, expect.stringContaining(sentence)]);
  });

  test('counts deliveries and bounces, and shows opens', async () => {
    const overview = await client().getOutboundOverview();
    expect(overview).toMatchObject({ Sent: 6, Bounced: 0, BounceRate: 0, SpamComplaints: 0, UniqueOpens: 0 });
    const { InactiveMails, Bounces } = await client().getDeliveryStatistics();
    expect([InactiveMails, Bounces[0]]).toEqual([2, { Name: 'All', Count: 0 }]);
    const { MessageID } = await client().sendEmail(
      mail({ Subject: 'Opened', TrackOpens: true, HtmlBody: '<p>Hi</p>' }),
    );
    expect(await client().getMessageOpens()).toEqual({ TotalCount: 0, Opens: [] });
    expect(await client().getMessageOpensForSingleMessage(MessageID)).toEqual({ TotalCount: 0, Opens: [] });
    await expect(client().getMessageOpens({ count: 100, offset: 1 })).rejects.toMatchObject({
      message: 'offset must be 0: read earlier opens with GET /v1/events',
    });
  });

  test('shows nothing of another organization', async () => {
    const other = await now.service.makeOrganization();
    const { value } = await now.service.makeKey(other, await now.service.makeDomain(other, 'b.test'));
    expect(await client(value).getOutboundMessages()).toEqual({ TotalCount: 0, Messages: [] });
    expect(await client(value).getSuppressions('broadcast')).toEqual({ Suppressions: [] });
    expect((await client(value).getOutboundOverview()).Sent).toBe(0);
  });
});
