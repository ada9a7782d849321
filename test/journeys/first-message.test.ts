import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { readInbox } from '../support/captured-mail.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** Parses the printed command instead of running it, because curl may not be installed. */
const PRINTED_LINE =
  /^curl -sS (?<url>\S+\/v1\/messages\/send) -H "(?<authorization>[^"]+)" -H '(?<type>[^']+)' -d '(?<body>[^']+)'$/m;
const DAY_MS = 86_400_000;

const header = (line = ''): [string, string] => {
  const [name = '', value = ''] = line.split(': ');
  return [name, value];
};

const run = ({ url = '', authorization, type, body = '' }: Record<string, string>): Promise<Response> =>
  fetch(url, { method: 'POST', headers: [header(authorization), header(type)], body });

describe('a user who starts the service for the first time', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let program: Program;
  let api: ApiClient;

  beforeAll(async () => {
    data = await newDataDir();
    receiver = await startWebhookReceiver();
    program = await startProgram({ dataDir: data.path });
    api = apiClient(program.baseUrl, program.keys.live);
  });

  afterAll(async () => {
    await program.end('SIGINT');
    await receiver.close();
    await data.remove();
  });

  test('sees the base address, a live and a test admin key, and where mail is captured', () => {
    expect(program.keys.live).toMatch(/^ob_live_[0-9A-Za-z]{49}$/);
    expect(program.keys.test).toMatch(/^ob_test_[0-9A-Za-z]{49}$/);
    expect(program.ready.inbox).toBe(`${program.baseUrl}/v1/inbox`);
  });

  test('pastes the printed line and sees the mail delivered, counted, billed and reported to a webhook', async () => {
    const hook = await api.post('/v1/webhooks', { url: receiver.url, events: ['message.*'] });
    expect(hook.status).toBe(201);

    const answer = await run(program.ready.firstStep?.match(PRINTED_LINE)?.groups ?? {});
    expect(answer.status).toBe(202);
    const sent = (await answer.json()) as { id: string; message_id: string };

    const message = await eventually(
      () => api.get(`/v1/messages/${sent.id}`),
      ({ body }) => body.status === 'delivered',
    );
    expect(message.body.recipients).toMatchObject([{ address: 'you@example.net', kind: 'to', status: 'delivered' }]);

    const inbox = await readInbox(api);
    expect(inbox).toHaveLength(1);
    expect(inbox[0]).toMatchObject({
      subject: 'First message',
      html: expect.stringContaining('<p>It works.</p>'),
      text: expect.stringContaining('It works.'),
      envelope: { to: ['you@example.net'] },
    });
    const messageId = inbox[0].headers.find(({ name }: { name: string }) => name.toLowerCase() === 'message-id');
    expect(messageId.value).toBe(sent.message_id);

    const stats = await api.get('/v1/stats');
    expect(stats.body.totals).toMatchObject({ accepted: 1, delivered: 1 });
    const billing = await api.get('/v1/billing');
    expect(JSON.stringify(billing.body)).toContain('"billable_recipients":1');

    await eventually(
      async () => receiver.posts.map(({ body }) => JSON.parse(body).type as string),
      (types) => types.includes('message.accepted') && types.includes('message.delivered'),
    );
    for (const { headers, body } of receiver.posts) {
      const verified = new Webhook(hook.body.secret).verify(body, headers as Record<string, string>);
      expect(verified).toMatchObject({ object: 'event', environment: 'live', data: { message_id: sent.id } });
    }
  });

  test('reads the same events in the feed, oldest first, each numbered', async () => {
    const feed = await api.get('/v1/events?types=message.accepted,message.sending,message.delivered');
    const mine = feed.body.data as { type: string; sequence: number }[];
    expect(mine.map(({ type, sequence }) => [type, sequence])).toEqual([
      ['message.accepted', 1],
      ['message.sending', 2],
      ['message.delivered', 3],
    ]);
  });

  test('sends with the test key, and nothing reaches the inbox', async () => {
    const sandbox = apiClient(program.baseUrl, program.keys.test);
    const to = ['delivered@sandbox.outbox.test', 'bounced@sandbox.outbox.test'];
    const sent = await sandbox.post('/v1/messages/send', { from: 'a@example.test', to, subject: 'Test', text: 'x' });
    expect(sent.status).toBe(202);
    const message = await eventually(
      () => sandbox.get(`/v1/messages/${sent.body.id}`),
      ({ body }) => body.status === 'delivered',
    );
    expect(message.body).toMatchObject({ partial: true, recipients: [{ status: 'delivered' }, { status: 'bounced' }] });
    expect((await api.get(`/v1/messages/${sent.body.id}`)).status).toBe(404);
    expect((await api.get('/v1/inbox')).body.data).toHaveLength(1);
    expect((await api.get('/v1/stats')).body.totals.accepted).toBe(1);
  });

  test('stops it with Ctrl-C, and finds everything again on the next start, which prints no secret', async () => {
    expect(await program.end('SIGINT')).toBe(0);
    const secret = program.keys.live;
    program = await startProgram({ dataDir: data.path });
    expect(program.keys).toEqual({ live: '', test: '' });
    api = apiClient(program.baseUrl, secret);
    const since = new Date(Date.now() - DAY_MS).toISOString();
    const list = await api.get(`/v1/messages?since=${encodeURIComponent(since)}`);
    expect(list.body.data).toHaveLength(1);
    expect(list.body.data[0]).toMatchObject({ subject: 'First message', status: 'delivered' });
  });
});
