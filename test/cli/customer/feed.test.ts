import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { eventLine, listenCommand } from '../../../src/cli/customer/listen.ts';
import { tailMessagesCommand } from '../../../src/cli/customer/messages.ts';
import { freePort } from '../../support/free-port.ts';
import { clientOf, outbox, startDouble, testTerminal, useCustomer } from './customer.ts';

const customer = useCustomer();
const { now, run } = customer;
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

afterEach(() => vi.unstubAllEnvs());

interface ShownEvent {
  readonly id: string;
  readonly cursor: string;
  readonly data: { readonly message_id: string };
}

describe('a tail', () => {
  test('shows events, and resumes from its cursor without a gap', async () => {
    const [first, second] = [await customer.send(), await customer.send()];
    const begun = testTerminal();
    await run(tailMessagesCommand, { after: 'start', limit: '1' }, [], begun);
    const [shown] = begun.printed as ShownEvent[];
    expect(shown?.data.message_id).toBe(first);
    expect(begun.notes).toEqual([`to continue from here: --after ${shown?.cursor}`]);
    const gone = testTerminal();
    await run(tailMessagesCommand, { after: shown?.cursor ?? '', limit: '1' }, [], gone);
    expect((gone.printed as ShownEvent[])[0]?.data.message_id).toBe(second);
    const live = testTerminal();
    const tailing = run(
      tailMessagesCommand,
      { after: (gone.printed as ShownEvent[])[0]?.cursor ?? '', limit: '1' },
      [],
      live,
    );
    const third = await customer.send();
    await tailing;
    expect((live.printed as ShownEvent[])[0]?.data.message_id).toBe(third);
  });

  test('reconnects after a cut, even in the middle of an event, and shows each event once', async () => {
    const asked: (string | null)[] = [];
    const frame = (number: number): string =>
      `id: c${number}\nevent: x\ndata: ${JSON.stringify({ id: `evt_${number}`, type: 'x', timestamp: 't', data: {} })}\n\n`;
    const url = await startDouble((request, response) => {
      if (request.headers.accept !== 'text/event-stream') return void response.end('{"data":[],"next_cursor":"c0"}');
      asked.push(new URL(`http://x${request.url}`).searchParams.get('after'));
      response.setHeader('content-type', 'text/event-stream');
      connect(response);
    });
    const connect = (response: ServerResponse): void => {
      if (asked.length === 1) {
        response.write(`id: c0\n\n${frame(1)}${frame(2).slice(0, 20)}`);
        setTimeout(() => response.destroy(), 50);
      } else if (asked.length === 2) {
        response.statusCode = 503;
        response.end('{}');
      } else {
        response.write(frame(2).replaceAll('\n', '\r\n'));
        response.write(`id: c3\nevent: end\ndata: {"reason":"service_stopping","next_cursor":"c3"}\n\n`);
      }
    };
    const terminal = testTerminal();
    const seen: string[] = [];
    for await (const { event } of clientOf(url, 'ob_live_x', terminal).events({}, undefined)) {
      seen.push(event.id);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual(['evt_1', 'evt_2']);
    expect(asked).toEqual(['c0', 'c1', 'c1']);
    expect(terminal.notes).toEqual([expect.stringMatching(/: reconnecting$/)]);
  });

  test('ends when its key stops working, and at a frame that never ends', async () => {
    const refused = clientOf(now.url, 'ob_live_wrong');
    await expect(refused.events({}, undefined).next()).rejects.toMatchObject({ status: 401, exitCode: 4 });
    await expect(run(tailMessagesCommand, { after: 'nonsense' })).rejects.toMatchObject({ status: 400 });
  });

  test('shows each event on one line, without control sequences', () => {
    const line = eventLine({
      id: 'evt_x',
      type: 'message.bounced',
      timestamp: '2031-01-01T00:00:00.000Z',
      data: {
        message_id: 'msg_x',
        recipient: { address: 'a\u001b[2J@example.net' },
        smtp: { code: 550, enhanced: '5.1.1', text: 'no\r\n\u009b1mmsg_y delivered' },
      },
    });
    expect(line).toBe(
      '2031-01-01T00:00:00.000Z  message.bounced     msg_x  a\\u001b[2J@example.net  550 5.1.1 no \\u009b1mmsg_y delivered',
    );
  });
});

describe('webhooks listen', () => {
  const startReceiver = async (statusOf: (posts: number) => number) => {
    const posts: { readonly headers: Record<string, string>; readonly body: string }[] = [];
    const url = await startDouble((request, response, body) => {
      posts.push({ headers: request.headers as Record<string, string>, body });
      response.statusCode = statusOf(posts.length);
      response.setHeader('location', 'http://127.0.0.1:1/');
      response.end('x');
    });
    return { url: `${url}/hook`, posts };
  };

  test('posts events with signatures that the libraries verify, and shows the responses', async () => {
    vi.stubEnv('OUTBOX_WEBHOOK_SECRET', SECRET);
    const receiver = await startReceiver((posts) => [200, 500, 302][posts - 1] ?? 200);
    for (let sent = 0; sent < 3; sent += 1) await customer.send();
    const terminal = testTerminal({ json: true });
    const values = { 'forward-to': receiver.url, types: 'message.*', after: 'start', limit: '3' };
    await run(listenCommand, values, [], terminal);
    expect(receiver.posts).toHaveLength(3);
    for (const { headers, body } of receiver.posts) {
      expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({ type: 'message.accepted' });
      expect(headers['user-agent']).toBe('Outbox-Webhooks/1.0');
      expect(headers.authorization).toBeUndefined();
    }
    expect(terminal.printed).toMatchObject([
      { type: 'message.accepted', status: 200, problem: null },
      { status: 500, problem: 'not a 2xx status: the service would retry' },
      { status: 302, problem: 'not a 2xx status: the service would retry' },
    ]);
    expect(terminal.notes).toContain(`signing secret: ${SECRET} (set OUTBOX_WEBHOOK_SECRET to use another)`);
  });

  test('posts one event again under the same id, whether or not it is about a message', async () => {
    vi.stubEnv('OUTBOX_WEBHOOK_SECRET', SECRET);
    const id = await customer.send();
    const events = testTerminal();
    await run(tailMessagesCommand, { after: 'start', limit: '1', message: id }, [], events);
    const [event] = events.printed as ShownEvent[];
    const receiver = await startReceiver(() => 200);
    await run(listenCommand, { 'forward-to': receiver.url, resend: event?.id ?? '' });
    expect(JSON.parse(receiver.posts[0]?.body ?? '')).toMatchObject({ id: event?.id, data: { message_id: id } });
    const { body } = await clientOf(now.url, now.key).ask<{ data: { id: string; type: string }[] }>(
      'GET',
      '/v1/events',
      {
        query: { types: 'domain.registered' },
      },
    );
    await run(listenCommand, { 'forward-to': receiver.url, resend: body.data[0]?.id ?? '' });
    expect(receiver.posts[1]?.headers['webhook-id']).toBe(body.data[0]?.id);
    await expect(
      run(listenCommand, { 'forward-to': receiver.url, resend: 'evt_aaaaaaaaaaaaaaaaaaaaaaaaaa' }),
    ).rejects.toThrow('not found');
    await expect(run(listenCommand, { 'forward-to': receiver.url, resend: '../x' })).rejects.toThrow(
      'is not an event id',
    );
  });

  test.each([
    [{ 'forward-to': 'file:///etc/passwd' }, /^--forward-to must be an http or https URL/],
    [{ 'forward-to': 'http://u:p@localhost' }, /^--forward-to must not contain a user or password/],
  ])('rejects %j', async (values, sentence) => {
    await expect(run(listenCommand, values)).rejects.toThrow(sentence);
  });

  test('says that there was no answer, and does not post again', async () => {
    vi.stubEnv('OUTBOX_WEBHOOK_SECRET', SECRET);
    await customer.send();
    const terminal = testTerminal();
    const url = `http://127.0.0.1:${await freePort()}/`;
    await run(listenCommand, { 'forward-to': url, after: 'start', limit: '1' }, [], terminal);
    expect(terminal.printed).toMatchObject([{ status: null, problem: 'ECONNREFUSED' }]);
  });

  test('rejects an invalid secret without showing it', async () => {
    const words = ['webhooks', 'listen', '--forward-to', 'http://127.0.0.1:1'];
    const ran = await outbox(words, { env: { ...customer.env(), OUTBOX_WEBHOOK_SECRET: 'hunter2' } });
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^OUTBOX_WEBHOOK_SECRET must be whsec_/) });
    expect(ran.stderr).not.toContain('hunter2');
  });
});
