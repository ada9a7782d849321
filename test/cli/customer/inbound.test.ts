import { Webhook } from 'standardwebhooks';
import { afterEach, expect, test, vi } from 'vitest';
import { listenInboundCommand } from '../../../src/cli/customer/listen.ts';
import { outbox, startDouble, testTerminal, useCustomer } from './customer.ts';

const { now, env, receive, run } = useCustomer();
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

afterEach(() => vi.unstubAllEnvs());

test('outbox inbound lists and shows received mail', async () => {
  const id = await receive(`support@${now.domain}`);
  const listed = await outbox(['inbound', 'list', '--subject', 'order'], { env: env() });
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  const shown = await outbox(['inbound', 'show', id, '--json'], { env: env() });
  expect(JSON.parse(shown.stdout)).toMatchObject({ id, text: 'Thanks!\n\n> Hello', reply: 'Thanks!' });
  const all = await outbox(['inbound', 'list'], { env: env() });
  expect(all.stdout).toMatch(new RegExp(`^ID +RECEIVED +SUBJECT\n${id} .* Re: Order 42\n`));
  const missing = await outbox(['inbound', 'show', 'inb_x'], { env: env() });
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('inbound message not found') });
});

/** @returns the posts that a receiver on this machine gets of one mail. */
const listenedTo = async (format: string | undefined) => {
  vi.stubEnv('OUTBOX_WEBHOOK_SECRET', SECRET);
  const posts: { readonly headers: Record<string, string>; readonly body: string }[] = [];
  const url = await startDouble((request, response, body) => {
    posts.push({ headers: request.headers as Record<string, string>, body });
    response.end();
  });
  const terminal = testTerminal();
  const values = { 'forward-to': `${url}/inbound`, after: 'start', limit: '1' };
  await run(listenInboundCommand, format === undefined ? values : { ...values, format }, [], terminal);
  expect(terminal.printed).toMatchObject([{ type: 'inbound.received', status: 200, problem: null }]);
  const [post = { headers: {}, body: '' }] = posts;
  return post;
};

test('outbox inbound listen posts the whole mail, signed like a webhook', async () => {
  const id = await receive(`listen@${now.domain}`);
  const { headers, body } = await listenedTo(undefined);
  expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({
    type: 'inbound.received',
    data: {
      ...{ inbound_id: id, contents: 'included', left_out: [], text: 'Thanks!\n\n> Hello', reply: 'Thanks!' },
      attachments: [{ filename: 'evil.html', url: expect.stringContaining('/inbound-attachments/') }],
    },
  });
});

test('outbox inbound listen posts the formats of other services with the files', async () => {
  const id = await receive(`listen@${now.domain}`);
  const postmark = await listenedTo('postmark_inbound');
  expect(new Webhook(SECRET).verify(postmark.body, postmark.headers)).toMatchObject({
    ...{ MessageID: id, StrippedTextReply: 'Thanks!', Outbox: { contents: 'included', attachments_left_out: 0 } },
    Attachments: [{ Name: 'evil.html', Content: Buffer.from('<script>alert(1)</script>').toString('base64') }],
  });
  const { headers, body } = await listenedTo('sendgrid_inbound');
  const form = await new Response(body, { headers: { 'content-type': headers['content-type'] ?? '' } }).formData();
  expect(form.get('text')).toBe('Thanks!\n\n> Hello');
  expect(await (form.get('attachment1') as File).text()).toBe('<script>alert(1)</script>');
});

test('outbox inbound listen refuses a format that does not exist', async () => {
  await expect(run(listenInboundCommand, { 'forward-to': 'http://127.0.0.1:1', format: 'xml' })).rejects.toThrow(
    '--format must be one of outbox, postmark_inbound, sendgrid_inbound',
  );
});
