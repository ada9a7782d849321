import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { readInbox } from '../support/captured-mail.ts';
import { freePort } from '../support/free-port.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

interface CapturedMail {
  readonly envelope: { readonly to: readonly string[] };
  readonly raw: string;
}

interface FeedEvent {
  readonly type: string;
  readonly data: { readonly recipient: { readonly address: string }; readonly method?: string };
}

const headerOf = async ({ raw }: CapturedMail, name: string): Promise<string | undefined> =>
  (await PostalMime.parse(raw)).headers.find(({ key }) => key === name)?.value;

const linkOf = async (mail: CapturedMail): Promise<string> =>
  /<([^<>]+)>/.exec((await headerOf(mail, 'list-unsubscribe')) ?? '')?.[1] ?? '';

const post = (link: string, form: Record<string, string>): Promise<Response> =>
  fetch(link, { method: 'POST', body: new URLSearchParams(form) });

const ONE_CLICK = { 'List-Unsubscribe': 'One-Click' };

describe('bulk mail with managed unsubscribe links', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let api: ApiClient;
  let id: string;
  /** Captured mails by address. */
  let mails: ReadonlyMap<string, CapturedMail>;

  /** The unsubscribe link in the mail to an address. */
  const linkTo = async (address: string): Promise<string> => {
    const mail = mails.get(address);
    if (mail === undefined) throw new Error(`${address} got no mail`);
    return linkOf(mail);
  };

  const unsubscribed = async (): Promise<readonly FeedEvent[]> =>
    (await api.get('/v1/events?types=message.unsubscribed')).body.data;

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path });
    api = apiClient(program.baseUrl, program.keys.live);
    const sent = await api.post('/v1/messages/send', {
      from: 'News <news@example.test>',
      to: ['ann@example.net', 'bob@example.org'],
      subject: 'News of the week',
      html: '<p>Hello</p>',
      stream: 'bulk',
      unsubscribe: 'managed',
    });
    expect(sent.status).toBe(202);
    id = sent.body.id;
    await eventually(
      () => api.get(`/v1/messages/${id}`),
      ({ body }) => body.status === 'delivered',
    );
    const captured: readonly CapturedMail[] = await readInbox(api);
    expect(captured).toHaveLength(2);
    mails = new Map(captured.map((mail) => [mail.envelope.to.join(), mail]));
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  test('is sent to each recipient with a link of its own, at the printed address', async () => {
    expect([...mails.keys()].sort()).toEqual(['ann@example.net', 'bob@example.org']);
    const links = await Promise.all([linkTo('ann@example.net'), linkTo('bob@example.org')]);
    expect(new Set(links).size).toBe(2);
    for (const link of links) expect(link.replace(/[\w-]{64}$/, '')).toBe(`${program.baseUrl}/unsubscribe/`);
    const ids = await Promise.all([...mails.values()].map((mail) => headerOf(mail, 'message-id')));
    expect(new Set(ids).size).toBe(1);
  });

  test('offers no one-click unsubscribe without https', async () => {
    for (const mail of mails.values()) expect(await headerOf(mail, 'list-unsubscribe-post')).toBeUndefined();
  });

  test('is not unsubscribed from by opening the link, or with a forged link', async () => {
    const link = await linkTo('ann@example.net');
    const page = await fetch(link);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain('example.test sent you');
    const forged = await post(`${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}`, ONE_CLICK);
    expect([forged.status, forged.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(await unsubscribed()).toEqual([]);
  });

  test('is unsubscribed from with one POST, for that recipient only, and once', async () => {
    const link = await linkTo('ann@example.net');
    expect((await post(link, ONE_CLICK)).status).toBe(200);
    const [event, ...others] = await unsubscribed();
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      type: 'message.unsubscribed',
      data: { message_id: id, recipient: { address: 'ann@example.net' }, method: 'one_click' },
    });
    expect((await post(link, ONE_CLICK)).status).toBe(200);
    expect((await post(link, { confirmed: 'yes' })).status).toBe(200);
    expect(await unsubscribed()).toHaveLength(1);
    const { recipients } = (await api.get(`/v1/messages/${id}`)).body;
    expect(recipients).toMatchObject([
      { address: 'ann@example.net', status: 'delivered', unsubscribed: true },
      { address: 'bob@example.org', status: 'delivered', unsubscribed: false },
    ]);
    expect((await api.get('/v1/stats')).body.totals).toMatchObject({ delivered: 2, unsubscribed: 1 });
  });

  test('is unsubscribed from with the button on the page too', async () => {
    const link = await linkTo('bob@example.org');
    const form = /<button[^>]* name="([^"]+)" value="([^"]+)">/.exec(await (await fetch(link)).text());
    expect((await post(link, { [form?.[1] ?? '']: form?.[2] ?? '' })).status).toBe(200);
    const events = await unsubscribed();
    expect(events.map(({ data: { recipient, method } }) => [recipient.address, method])).toEqual([
      ['ann@example.net', 'one_click'],
      ['bob@example.org', 'page'],
    ]);
  });
});

describe('links in mail of a service with a PUBLIC_URL', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let api: ApiClient;

  beforeAll(async () => {
    data = await newDataDir();
    const port = await freePort();
    const env = { PUBLIC_URL: 'https://post.müller.test/mail/', PORT: String(port) };
    program = await startProgram({ dataDir: data.path, env });
    api = apiClient(`http://127.0.0.1:${port}`, program.keys.live);
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  test('begin with it, and offer one-click unsubscribe because it is https', async () => {
    const message = { from: 'a@example.test', to: 'ann@example.net', subject: 'x', text: 'x', unsubscribe: 'managed' };
    expect((await api.post('/v1/messages/send', message)).status).toBe(202);
    const [mail] = await eventually(
      (): Promise<readonly CapturedMail[]> => readInbox(api),
      ({ length }) => length === 1,
    );
    if (mail === undefined) throw new Error('no mail');
    expect(await headerOf(mail, 'list-unsubscribe')).toMatch(
      /^<https:\/\/post\.xn--mller-kva\.test\/mail\/unsubscribe\/[\w-]{64}>$/,
    );
    expect(await headerOf(mail, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  });
});
