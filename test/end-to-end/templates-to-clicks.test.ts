import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { readInbox } from '../support/captured-mail.ts';
import { CHROMIUM, chromiumIsMissing, HEADLESS } from '../support/chromium.ts';
import { operator } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

/** A normal browser's user agent. That of a headless browser reveals a program. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36';
/** Earlier clicks are classified as a security filter (`recordEngagement`). */
const AFTER_DELIVERY_MS = 3_500;

const TEMPLATE = `name: Sale
subject: "Sale, {{ name }}"
variables:
  - { name: name, type: string, example: Ann }
  - { name: web, type: url, example: "https://example.com" }
`;
const TEMPLATE_HTML = `<p>Hello {{ name }}</p>
<p><a id="sale" href="{{ web }}/sale?a=1&amp;b=%41#top">Sale</a>
  <a href="{{ web }}/off" data-outbox-track="off">Off</a> <a href="mailto:x@example.test">Mail</a></p>
`;

interface FeedEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The complete customer journey: create, pull, push from files, publish, send, click in Chromium, see statistics. */
describe('tracked mail from a template that was pushed from files', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let api: ApiClient;
  let id: string;
  let templateId: string;
  let raw: string;
  let html: string;
  /** Serves the targets of links, and the mail as a page, as webmail shows it. */
  let web: Server;
  let webUrl: string;
  const visited: string[] = [];
  let page = '';

  const linksIn = (text: string): readonly string[] =>
    [...text.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));

  const engagements = async (): Promise<readonly FeedEvent[]> =>
    (await api.get('/v1/events?types=message.opened,message.clicked')).body.data;

  beforeAll(async () => {
    web = createServer((request, response) => {
      visited.push(request.url ?? '');
      response
        .setHeader('content-type', 'text/html; charset=utf-8')
        .end(request.url === '/mail' ? page : '<p>Here</p>');
    }).listen(0, '127.0.0.1');
    await once(web, 'listening');
    webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path });
    api = apiClient(program.baseUrl, program.keys.live);
    const folder = join(data.path, 'templates');
    const draft = { alias: 'sale', name: 'Sale', subject: 'Sale', html: '<p>Hello</p>' };
    expect((await api.post('/v1/templates', draft)).status).toBe(201);
    const env = { OUTBOX_URL: program.baseUrl, OUTBOX_API_KEY: program.keys.live };
    await operator({ dataDir: data.path, env }, 'templates', 'pull', folder);
    await writeFile(join(folder, 'sale/template.yaml'), TEMPLATE);
    await writeFile(join(folder, 'sale/template.html'), TEMPLATE_HTML);
    await operator({ dataDir: data.path, env }, 'templates', 'push', folder, '--publish');
    const sent = await api.post('/v1/messages/send', {
      ...{ from: 'shop@example.test', to: 'ann@example.net' },
      template: { id: 'sale', variables: { name: 'Ann & Bob', web: webUrl } },
      tracking: { opens: true, clicks: true },
    });
    id = sent.body.id;
    templateId = (await api.get('/v1/templates/sale')).body.id;
    await eventually(
      () => api.get(`/v1/messages/${id}`),
      ({ body }) => body.status === 'delivered',
    );
    raw = (await readInbox(api))[0].raw;
    html = (await PostalMime.parse(raw)).html ?? '';
  });

  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
    web.close();
  });

  test('links through the service, except for links that opt out', async () => {
    const [sale, ...others] = linksIn(html);
    expect(sale).toMatch(/\/c\/[\w-]{96}\?u=/);
    expect(sale?.startsWith(program.baseUrl)).toBe(true);
    expect(others).toEqual([`${webUrl}/off`, 'mailto:x@example.test']);
    expect(html).toContain(`<img src="${program.baseUrl}/o/`);
    const { text = '' } = await PostalMime.parse(raw);
    expect(text).toContain(`${webUrl}/sale`);
    expect(text).not.toContain('/c/');
    expect(raw).toMatch(/^DKIM-Signature:/m);
  });

  test.skipIf(chromiumIsMissing)('is opened and clicked in Chromium', async () => {
    page = `${html}<script>addEventListener('load', () => document.querySelector('#sale').click())</script>`;
    await sleep(AFTER_DELIVERY_MS);
    const chromium = execFile(CHROMIUM, [
      ...HEADLESS,
      `--user-data-dir=${data.path}/chromium`,
      ...[`--user-agent=${USER_AGENT}`, '--timeout=10000', '--dump-dom', `${webUrl}/mail`],
    ]);
    await eventually(
      async () => visited.filter((url) => url.startsWith('/sale')),
      (urls) => urls.length > 0,
      30_000,
    );
    chromium.kill();
    expect(visited).toContain('/sale?a=1&b=%41');
    const events = await eventually(engagements, ({ length }) => length >= 2, 15_000);
    expect(
      events.map(({ type, data: { first, machine, client, network } }) => ({
        type,
        first,
        machine,
        client,
        network,
      })),
    ).toEqual(
      expect.arrayContaining(
        ['message.opened', 'message.clicked'].map((type) => ({
          ...{ type, first: true, machine: false, client: 'chrome', network: 'private' },
        })),
      ),
    );
    expect(events.find(({ type }) => type === 'message.clicked')?.data.url).toBe(`${webUrl}/sale?a=1&b=%41#top`);
    const { body: message } = await api.get(`/v1/messages/${id}`);
    expect(message).toMatchObject({ subject: 'Sale, Ann & Bob' });
    const { totals } = (await api.get(`/v1/stats?template=${templateId}&template_version=1`)).body;
    expect(totals).toMatchObject({ opened: 1, clicked: 1, machine_opened: 0, machine_clicked: 0 });
    const { steps } = (await api.get(`/v1/messages/${id}/explain`)).body;
    const sentences = steps.map(({ sentence }: { readonly sentence: string }) => sentence).join('\n');
    expect(sentences).toContain(`Rendered from version 1 of template "sale" (${templateId}).`);
    expect(sentences).toMatch(/ann@example\.net opened it/);
    expect(sentences).toMatch(/ann@example\.net followed a link.*\/sale/);
  });

  test('counts a machine separately', async () => {
    const [sale = ''] = linksIn(html);
    const before = (await api.get('/v1/stats')).body.totals;
    expect((await fetch(sale, { method: 'HEAD', redirect: 'manual' })).status).toBe(302);
    const known = (await engagements()).length;
    const events = await eventually(engagements, ({ length }) => length > known, 15_000);
    expect(events.find(({ data: { machine } }) => machine === true)?.data).toMatchObject({
      machine_reason: 'head_request',
    });
    const after = (await api.get('/v1/stats')).body.totals;
    expect(after).toMatchObject({ clicked: before.clicked, clicks: before.clicks, machine_clicked: 1 });
  });
});
