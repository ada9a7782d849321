import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startDashboard, WIDE } from './support.ts';

/** A mail that tries every kind of request, each with its own path. */
const hostile = (host: string): string => `<!doctype html>
<html><head>
<meta http-equiv="refresh" content="0;url=${host}/refresh">
<base href="${host}/base/">
<link rel="stylesheet" href="${host}/link.css"><link rel="prefetch" href="${host}/prefetch"><link rel="preload" as="image" href="${host}/preload">
<link rel="preconnect" href="${host}"><link rel="dns-prefetch" href="${host}"><link rel="modulepreload" href="${host}/module.js"><link rel="icon" href="${host}/icon">
<style>@import url("${host}/import.css"); @font-face { font-family: spy; src: url("${host}/font.woff2"); } body { font-family: spy; background: url("${host}/background"); cursor: url("${host}/cursor"), auto; }</style>
<script src="${host}/script.js"></script><script>top.ran = 1; window.ran = 1; fetch('${host}/fetch');</script>
</head><body background="${host}/body" onload="top.ran = 1">
<p>Sealed off</p>
<img src="${host}/image" srcset="${host}/image-2 2x" alt="" onerror="top.ran = 1">
<picture><source srcset="${host}/source"><img src="relative/image" alt=""></picture>
<video src="${host}/video" poster="${host}/poster" autoplay></video><audio src="${host}/audio" autoplay></audio>
<iframe src="${host}/frame"></iframe><iframe srcdoc="&lt;img src='${host}/srcdoc'&gt;&lt;script&gt;top.ran = 1&lt;/script&gt;"></iframe>
<object data="${host}/object"></object><embed src="${host}/embed">
<form action="${host}/form" method="post"><input type="image" src="${host}/input" alt="Send"><input name="a" autofocus onfocus="top.ran = 1"><button>Post</button></form>
<svg><image href="${host}/svg"></image></svg>
<details open ontoggle="top.ran = 1"><summary>More</summary></details>
<a href="javascript:top.ran=1" target="_self">Run</a>
<a href="${host}/self" target="_top">Leave</a>
<a href="https://elsewhere.example.test/page" ping="${host}/ping">Open</a>
</body></html>`;

/** Loads a preview like a member's browser: as a page of its own, in a frame of the dashboard. */
const frameIn = async (page: Page, key: string, path: string): Promise<void> => {
  await page.route('**/preview*', (route) =>
    route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${key}` } }),
  );
  await page.evaluate((src) => {
    // biome-ignore lint/suspicious/noExplicitAny: of the page
    const { document } = globalThis as any;
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-popups allow-popups-to-escape-sandbox');
    Object.assign(frame, { src, width: 900, height: 700 });
    document.body.prepend(frame);
  }, path);
};

describe.skipIf(chromiumIsMissing)('the preview of hostile mail', () => {
  let tracker: Server;
  let host: string;
  /** Path of each kind of preview. */
  const paths = { message: '', template: '' };
  const hits: string[] = [];
  let connections = 0;
  const dashboard = startDashboard();

  beforeAll(async () => {
    tracker = createServer(({ url = '' }, response) => {
      hits.push(url);
      response.end();
    }).listen(0, '127.0.0.1');
    tracker.on('connection', () => {
      connections += 1;
    });
    await once(tracker, 'listening');
    host = `http://127.0.0.1:${(tracker.address() as AddressInfo).port}`;
    const mail = { from: 'a@example.test', to: 'b@example.net', subject: 'x', html: hostile(host) };
    const { status, body } = await dashboard.api.post('/v1/messages/send', mail);
    expect([status, body]).toEqual([202, body]);
    paths.message = `/v1/messages/${body.id}/preview`;
    const template = { alias: 'hostile', name: 'Hostile', subject: 'x', html: hostile(host) };
    expect((await dashboard.api.post('/v1/templates', template)).status).toBe(201);
    paths.template = '/v1/templates/hostile/preview';
  });
  afterAll(() => tracker.close());

  test.each([
    ['message', ''],
    ['message', '?images=remote'],
    ['template', '?images=remote'],
  ] as const)('in a %s executes, posts and loads nothing (%s)', async (kind, query) => {
    const { page, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/keys');
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    await frameIn(page, dashboard.program.keys.live, paths[kind] + query);
    const mail = page.frameLocator('iframe').first();
    await mail.getByText('Sealed off').waitFor();
    await page.waitForTimeout(1_000);
    // Browsers preconnect to the host of a link only on hover.
    expect(connections).toBe(0);
    await mail.getByRole('button', { name: 'Post' }).click();
    await mail.getByRole('link', { name: 'Run' }).click();
    await mail.getByRole('link', { name: 'Leave' }).click();
    await page.waitForTimeout(1_000);
    expect(new URL(page.url()).pathname).toBe('/dashboard/keys');
    await mail.getByText('Sealed off').waitFor();
    const opened = page.context().waitForEvent('page');
    await page
      .context()
      .route('https://elsewhere.example.test/**', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<p>elsewhere</p>' }),
      );
    await mail.getByRole('link', { name: 'Open' }).click();
    expect((await opened).url()).toBe('https://elsewhere.example.test/page');
    await page.waitForTimeout(500);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(hits).toEqual([]);
    connections = 0;
    await close();
  });

  test('loads remote images only on request', async () => {
    const html = '<p>Pictures</p><img src="https://elsewhere.example.test/a.png" alt="">';
    const mail = { from: 'a@example.test', to: 'b@example.net', subject: 'x', html };
    const sent = (await dashboard.api.post('/v1/messages/send', mail)).body;
    const { page, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    const asked: string[] = [];
    await page.context().route('https://elsewhere.example.test/**', (route) => {
      asked.push(route.request().headers().referer ?? 'no referrer');
      return route.fulfill({ contentType: 'image/svg+xml', body: '<svg xmlns="http://www.w3.org/2000/svg"/>' });
    });
    await page.goto('/dashboard/keys');
    for (const [query, expected] of [
      ['', []],
      ['?images=remote', ['no referrer']],
    ] as const) {
      await frameIn(page, dashboard.program.keys.live, `/v1/messages/${sent.id}/preview${query}`);
      await page.frameLocator('iframe').first().getByText('Pictures').waitFor();
      await page.waitForTimeout(300);
      expect(asked).toEqual(expected);
    }
    await close();
  });
});
