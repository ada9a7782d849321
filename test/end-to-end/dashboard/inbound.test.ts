import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const SUBJECT = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1"> \u202Egnp.exe';

const mailWith = (html: string, subject: string): string =>
  [
    'From: "Ann <b>Example</b>" <ann@example.net>',
    'To: support@example.test',
    `Subject: ${subject}`,
    'Message-ID: <1@example.net>',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/html; charset=utf-8',
    '',
    html,
    '--b',
    'Content-Type: text/plain; name="../../evil.txt"',
    'Content-Disposition: attachment; filename="../../evil.txt"',
    '',
    'eleven euros',
    '--b--',
    '',
  ].join('\r\n');

/** Attacks of a mail, each with its own path. */
const hostile = (host: string): string => `<p>Sealed off</p>
<script>top.ran = 1; fetch('${host}/script')</script><img src="${host}/image" onerror="top.ran = 1">
<style>@import url("${host}/import.css"); body { background: url("${host}/background") }</style>
<p style="background: url(${host}/style)">Styled</p><link rel="stylesheet" href="${host}/link.css"><base href="${host}/">
<meta http-equiv="refresh" content="0;url=${host}/refresh"><iframe src="${host}/frame"></iframe><object data="${host}/object"></object>
<form action="${host}/form"><button>Post</button></form><svg><image href="${host}/svg"/></svg><video src="${host}/video" autoplay></video>
<a href="javascript:top.ran=1">Run</a>`;

/** False for reports of the policy that keeps the hostile mail from loading. */
const isOwn = (complaint: string): boolean => !complaint.includes('img-src data:');

describe.skipIf(chromiumIsMissing)('inbound mail', () => {
  let tracker: Server;
  let hook: Awaited<ReturnType<typeof startWebhookReceiver>>;
  const hits: string[] = [];
  let domainId: string;
  let id: string;

  const receive = async (raw: string, to: string, from = 'ann@example.net'): Promise<string> => {
    const { status, body } = await dashboard.api.post('/v1/inbound/test', { raw, to, from });
    expect([status, body.error]).toEqual([201, undefined]);
    return body.id;
  };
  const plain = (subject: string): string =>
    `From: bob@example.net\r\nSubject: ${subject}\r\n\r\nYes!\r\n\r\n> Shall we?\r\n`;

  const dashboard = startDashboard(async ({ api }) => {
    domainId = (await api.get('/v1/domains')).body.data.find(
      ({ name }: { name: string }) => name === 'example.test',
    ).id;
  });

  beforeAll(async () => {
    tracker = createServer(({ url = '' }, response) => {
      hits.push(url);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(tracker, 'listening');
    hook = await startWebhookReceiver();
  });
  afterAll(async () => {
    tracker.close();
    await hook.close();
  });

  test.each(WINDOWS)('says how to begin, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/inbound');
    await page.getByText('No inbound mail yet').waitFor();
    expect(await look(page, `inbound-empty-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('is turned on for a domain, and its route is created, changed and deleted', async () => {
    await dashboard.api.post('/v1/webhooks', { url: hook.url, events: ['message.*'] });
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    await page.goto(`/dashboard/domains/${domainId}`);
    const card = page.getByRole('region', { name: 'Inbound mail' });
    await card.getByText('Off', { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Receive mail' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Receive mail' }).click();
    await card.getByText('On', { exact: true }).waitFor();
    expect((await dashboard.api.get(`/v1/domains/${domainId}`)).body.inbound).toEqual({ mx: true });
    expect(await look(page, 'inbound-domain')).toEqual(FINE);
    await card.getByRole('link', { name: 'Routes' }).click();
    await page.getByText('No routes').waitFor();
    expect(await look(page, 'inbound-routes-empty')).toEqual(FINE);

    await page.getByRole('button', { name: 'Add a route' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Addresses').fill('support*');
    await dialog.getByRole('combobox', { name: /^Webhook/ }).selectOption({ index: 1 });
    await look(page, 'inbound-route-dialog');
    await dialog.getByRole('button', { name: 'Add a route' }).click();
    await page.getByText('support*@example.test').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Order').fill('7');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByTitle('Order').getByText('7', { exact: true }).waitFor();
    expect((await dashboard.api.get('/v1/inbound-routes')).body.data).toMatchObject([
      { match: 'support*', action: 'webhook', order: 7, domain_id: domainId, webhook_id: expect.any(String) },
    ]);

    await page.getByRole('button', { name: 'Add a route' }).click();
    await dialog.getByLabel('Addresses').fill('no reply');
    await dialog.getByRole('radio', { name: /^Refuse/ }).check();
    await dialog.getByRole('button', { name: 'Add a route' }).click();
    await dialog.getByText(/must be the part of an address before the @/).waitFor();
    await dialog.getByLabel('Addresses').fill('noreply');
    await dialog.getByRole('button', { name: 'Add a route' }).click();
    await page.getByText('noreply@example.test').waitFor();
    expect(await look(page, 'inbound-routes')).toEqual(FINE);
    const row = page.getByRole('listitem').filter({ hasText: 'noreply@example.test' });
    await row.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    expect(complaints.filter((text) => !text.includes('400 (Bad Request)'))).toEqual([]);
    await close();
  });

  test('is listed as it arrives, found, and opened by keyboard', async () => {
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    await receive(plain('First question'), 'sales@example.test', 'bob@example.net');
    const search = async (text: string): Promise<void> => {
      await page.getByRole('combobox', { name: 'Search inbound mail' }).fill(text);
      await page.keyboard.press('Enter');
    };
    await page.goto('/dashboard/inbound');
    await page.getByText('First question').waitFor();
    const host = `http://127.0.0.1:${(tracker.address() as AddressInfo).port}`;
    id = await receive(mailWith(hostile(host), SUBJECT), 'support@example.test');
    await page.getByText('gnp.exe').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('from:bob@example.net');
    await page.keyboard.press('Enter');
    await page.getByText('gnp.exe').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Remove from' }).click();
    await page.getByText('gnp.exe').waitFor();
    await search('question');
    await page.getByText('gnp.exe').waitFor({ state: 'detached' });
    await search('since:nonsense');
    await page.getByText(/is not a time/).waitFor();
    await page.goto('/dashboard/inbound?to=nobody%40example.test');
    await page.getByText('No matching inbound mail').waitFor();
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.getByText('gnp.exe').waitFor();
    await page.keyboard.press('j');
    await page.locator('[data-selected]').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(({ pathname }) => pathname === `/dashboard/inbound/${id}`);
    await page.getByRole('heading', { level: 1 }).getByText('gnp.exe').waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { level: 1, name: 'First question' }).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL(({ pathname }) => pathname === '/dashboard/inbound');
    await page.goto('/dashboard/events?types=inbound.received');
    await page.getByText('First question').waitFor();
    await page.getByRole('link', { name: 'bob@example.net' }).click();
    await page.getByRole('heading', { level: 1, name: 'First question' }).waitFor();
    await page.setViewportSize({ width: 390, height: 860 });
    await page.goto(`/dashboard/inbound/${id}?tab=webhooks`);
    const tab = await page.getByRole('navigation', { name: 'Views' }).locator('[aria-current]').boundingBox();
    expect((tab?.x ?? 0) + (tab?.width ?? 0)).toBeLessThanOrEqual(390);
    expect(complaints.filter(isOwn)).toEqual([]);
    await close();
  });

  test('shows hostile html, which runs and loads nothing, and saves its files', async () => {
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    await page.goto(`/dashboard/inbound/${id}`);
    const mail = page.frameLocator('iframe');
    await mail.getByText('Sealed off').waitFor();
    await page.getByText('A program wrote it').waitFor();
    expect(await mail.locator('script, form, iframe, object, link, meta, svg, video').count()).toBe(0);
    await mail.getByText('Run').click();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    await page.getByRole('link', { name: 'Headers' }).click();
    await page.getByText('auto-replied').waitFor();
    await page.getByRole('link', { name: 'Source' }).click();
    await page.getByText(/multipart\/mixed/).waitFor();
    const source = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download .eml' }).click();
    expect((await source).suggestedFilename()).toBe(`${id}.eml`);
    await page.getByRole('link', { name: /^Attachments/ }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await saved).suggestedFilename()).toBe('evil.txt');
    expect(hits).toEqual([]);
    expect(complaints.filter(isOwn)).toEqual([]);
    await close();
  });

  test('shows what the webhook of its route got, and sends it again', async () => {
    await eventually(
      async () => hook.posts.length,
      (posts) => posts === 1,
    );
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    await page.goto(`/dashboard/inbound/${id}?tab=webhooks`);
    await page.getByText('Delivered').waitFor();
    expect(await look(page, 'inbound-webhooks')).toEqual(FINE);
    await page.getByRole('button', { name: 'Send now' }).click();
    await eventually(
      async () => hook.posts.length,
      (posts) => posts === 2,
    );
    expect(complaints).toEqual([]);
    await close();
  });

  test('that answers a message is linked with it, both ways', async () => {
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Your order', text: 'On its way.' };
    const { body: sent } = await dashboard.api.post('/v1/messages/send', mail);
    const raw = `From: ann@example.net\r\nIn-Reply-To: ${sent.message_id}\r\nSubject: Re: Your order\r\n\r\nThanks!\r\n`;
    await receive(raw, 'shop@example.test');
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    await page.goto(`/dashboard/messages/${sent.id}`);
    const fact = page.getByRole('complementary', { name: 'Facts' }).getByText('Answers').locator('..');
    await fact.getByRole('link', { name: '1' }).click();
    await page.getByText('Re: Your order').click();
    await page.getByRole('link', { name: 'a message of yours' }).click();
    await page.waitForURL(({ pathname }) => pathname === `/dashboard/messages/${sent.id}`);
    expect(complaints).toEqual([]);
    await close();
  });

  test('is received by hand, and its reply is shown without the quoted part', async () => {
    const { page, complaints, close } = await dashboard.openAs('developer', WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/inbound');
    await page.getByRole('button', { name: 'Receive a test' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Text').fill('Yes!\n\nOn Monday, Shop wrote:\n> Shall we?');
    await dialog.getByRole('button', { name: 'Receive a test' }).click();
    await page.getByRole('heading', { level: 1, name: 'A test' }).waitFor();
    await page.keyboard.press('2');
    await page.getByText('Yes!', { exact: true }).waitFor();
    expect(await page.getByText('Shall we?').count()).toBe(0);
    await page.keyboard.press('3');
    await page.getByText('Shall we?').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([...WINDOWS, { theme: 'light', width: 1920 } as const])(
    'fits its screens, $theme, $width pixels wide',
    async (size) => {
      const { page, complaints, close } = await dashboard.openAs('owner', size);
      const name = `${size.theme}-${size.width}`;
      await page.goto('/dashboard/inbound');
      await page.getByText('gnp.exe').waitFor();
      expect(await look(page, `inbound-${name}`)).toEqual(FINE);
      await page.goto('/dashboard/inbound?tab=routes');
      await page.getByText('support*@example.test').waitFor();
      expect(await look(page, `inbound-routes-${name}`)).toEqual(FINE);
      await page.goto(`/dashboard/inbound/${id}`);
      await page.frameLocator('iframe').getByText('Sealed off').waitFor();
      expect(await look(page, `inbound-message-${name}`)).toEqual(FINE);
      for (const tab of ['reply', 'headers', 'attachments', 'webhooks']) {
        await page.goto(`/dashboard/inbound/${id}?tab=${tab}`);
        await page.locator('.card').first().waitFor();
        expect(await look(page, `inbound-${tab}-${name}`)).toEqual(FINE);
      }
      await page.goto(`/dashboard/domains/${domainId}`);
      await page.getByRole('region', { name: 'Inbound mail' }).waitFor();
      expect(await look(page, `inbound-domain-${name}`)).toEqual(FINE);
      expect(complaints.filter(isOwn)).toEqual([]);
      await close();
    },
  );

  test.each(['auditor', 'analyst'] as const)(
    'is listed for the %s without contents, and cannot be opened',
    async (role) => {
      const { page, complaints, close } = await dashboard.openAs(role, WIDE, { keepsPolicy: true });
      await page.goto('/dashboard/inbound');
      await page.getByText('Messages cannot be opened').waitFor();
      const text = await page.locator('main').innerText();
      expect(text).not.toContain('ann@');
      expect(text).not.toContain('gnp.exe');
      expect(await page.locator('a.lr').count()).toBe(0);
      expect(await page.getByRole('button', { name: 'Receive a test' }).count()).toBe(0);
      expect(await page.getByRole('link', { name: 'Routes' }).count()).toBe(role === 'auditor' ? 1 : 0);
      if (role === 'auditor') {
        await page.getByRole('link', { name: 'Routes' }).click();
        await page.getByText('support*@example.test').waitFor();
        for (const button of ['Add a route', 'Edit', 'Delete'])
          expect(await page.getByRole('button', { name: button }).count()).toBe(0);
      }
      await page.goto(`/dashboard/inbound/${id}`);
      await page.getByText('cannot open this page').waitFor();
      await page.goto('/dashboard/inbound?from=ann%40example.net');
      await page.getByText('You cannot search by from').waitFor();
      expect(complaints).toEqual([]);
      await close();
    },
  );

  test('is found by id with the command palette, as are its route and its sender', async () => {
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    const [route] = (await dashboard.api.get('/v1/inbound-routes')).body.data;
    await page.goto('/dashboard');
    const open = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search or jump to' }).fill(text);
      await page.keyboard.press('Enter');
    };
    await page.getByRole('heading', { level: 1 }).waitFor();
    await open(id);
    await page.waitForURL(({ pathname }) => pathname === `/dashboard/inbound/${id}`);
    await open(route.id);
    await page.waitForURL(({ searchParams }) => searchParams.get('route') === route.id);
    await page.locator('[aria-current=true]').getByText('support*@example.test').waitFor();
    await open('bob@example.net');
    await page.waitForURL(({ searchParams }) => searchParams.get('from') === 'bob@example.net');
    await page.getByText('First question').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.waitForURL(({ pathname, search }) => pathname === '/dashboard/inbound' && search === '');
    expect(complaints.filter(isOwn)).toEqual([]);
    await close();
  });
});
