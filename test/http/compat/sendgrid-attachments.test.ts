import sendgrid from '@sendgrid/mail';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTenant } from './tenant.ts';

/** Files as programs give them to the published client, unmodified. */

const { now, accepted } = useTenant();

interface Client {
  setDefaultRequest(name: string, value: string): void;
}

beforeAll(async () => {
  const url = await now.service.server.listen({ port: 0, host: '127.0.0.1' });
  sendgrid.setApiKey(now.key);
  (sendgrid as unknown as { readonly client: Client }).client.setDefaultRequest('baseUrl', `${url}/compat/sendgrid/`);
});

const BYTES = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 256));
const BASE64 = BYTES.toString('base64');
const inLines = (end: string): string => (BASE64.match(/.{1,76}/g) ?? []).join(end) + end;

/** @returns the attachments of the message that was sent. */
const sent = async (attachment: object) => {
  const mail = { from: 'a@a.test', to: 'b@example.org', subject: 'File', text: 'Hi', attachments: [attachment] };
  const [{ headers }] = await sendgrid.send(mail as never);
  const url = `/v1/messages/${(headers as Record<string, string>)['x-message-id']}/content`;
  return (await now.service.request({ url, key: now.key })).json().attachments;
};

describe('attachments of sendgrid', () => {
  test.each([
    ['base64', { content: BASE64 }],
    ['base64 in lines (RFC 2045)', { content: inLines('\r\n') }],
    ['base64 in lines with line feeds', { content: inLines('\n') }],
  ])('%s arrives unchanged', async (_, file) => {
    expect(await sent({ filename: 'a.bin', type: 'application/octet-stream', ...file })).toMatchObject([
      { filename: 'a.bin', content_type: 'application/octet-stream', content: BASE64 },
    ]);
  });

  test('text arrives with the bytes of its base64', async () => {
    const content = Buffer.from('Grüße\r\n').toString('base64');
    expect(await sent({ filename: 'a.txt', type: 'text/plain', content })).toMatchObject([{ content }]);
  });

  test.each([
    ['text that is not base64', { content: 'Grüße, Welt!' }],
    ['a line that ends a header', { content: 'QQ==\r\nBcc: eve@b.test' }],
    ['a NUL', { content: 'QQ=\0' }],
    ['base64 for URLs', { content: '-_-_' }],
  ])('refuses %s, by its name', async (_, file) => {
    const before = await accepted();
    const problem = await sent({ filename: 'a.txt', ...file }).catch((error) => error.response.body.errors[0]);
    expect(problem).toMatchObject({
      field: 'attachments',
      message: expect.stringMatching(/^attachments\[0\]\.content /),
    });
    expect(await accepted()).toBe(before);
  });
});
