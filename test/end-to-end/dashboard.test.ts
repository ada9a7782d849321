import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { look, openBrowser, openWindow } from '../support/browser.ts';
import { chromiumIsMissing, THEMES, type Theme } from '../support/chromium.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

const HOSTILE = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1"> \u202Egnp.exe';
const HTML = '<h1>On its way</h1><script>window.ran = 1</script><img src="https://elsewhere.example.test/pixel.png">';
/** Shell, list and fonts, as they come over the wire. */
const FIRST_LOAD_BYTES_MAX = 150_000;

describe('the dashboard', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let database: TestDatabase;
  let program: Program;
  let api: ApiClient;
  let browser: Browser | undefined;
  /** Id of a message that says what would run if it could. */
  let hostile: string;

  const send = async (to: string, subject: string): Promise<string> => {
    const mail = {
      from: 'Shop <shop@example.test>',
      to,
      subject,
      html: HTML,
      tags: [{ name: 'kind', value: 'order' }],
    };
    return (await api.post('/v1/messages/send', mail)).body.id;
  };

  const open = async (theme: Theme, width: number) => {
    if (browser === undefined) throw new Error('there is no browser');
    return openWindow(browser, { baseUrl: program.baseUrl, theme, width, keys: { live: program.keys.live } });
  };

  beforeAll(async () => {
    data = await newDataDir();
    database = await freshDatabase();
    const env = { DATABASE_URL: database.url, SECRET_KEY: 'a secret key that is long enough for a test' };
    program = await startProgram({ dataDir: data.path, env });
    api = apiClient(program.baseUrl, program.keys.live);
    hostile = await send('ann@example.net', HOSTILE);
    for (let at = 0; at < 20; at += 1) await send(`ann${at}@example.net`, `Your order ${at} has shipped`);
    await eventually(
      () => api.get(`/v1/messages/${hostile}`),
      ({ body }) => body.status === 'delivered',
    );
    if (!chromiumIsMissing) browser = await openBrowser();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await program.end('SIGTERM');
    await data.remove();
    await database.drop();
  });

  test('is a public page that may load nothing from elsewhere, and files that may be kept', async () => {
    const page = await fetch(`${program.baseUrl}/dashboard/messages/msg_x?peek=1`);
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const known = { 'if-none-match': page.headers.get('etag') ?? '' };
    expect((await fetch(`${program.baseUrl}/dashboard`, { headers: known })).status).toBe(304);
    const [script = ''] = /\/dashboard\/assets\/[\w-]+\.js/.exec(await page.text()) ?? [];
    const file = await fetch(program.baseUrl + script, { headers: { 'accept-encoding': 'br' } });
    expect(file.headers.get('cache-control')).toContain('immutable');
    expect(file.headers.get('content-encoding')).toBe('br');
    expect((await fetch(`${program.baseUrl}/dashboard/assets/main-NONE.js`)).status).toBe(404);
  });

  test.skipIf(chromiumIsMissing)('asks for a key, and refuses a wrong one', async () => {
    if (browser === undefined) return;
    const { page, close } = await openWindow(browser, { baseUrl: program.baseUrl, theme: 'light', width: 1280 });
    await page.goto('/dashboard');
    await page.getByLabel('API key').fill('ob_live_wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await look(page, 'sign-in')).toEqual({ violations: [], isTooWide: false });
    await page.getByLabel('API key').fill(program.keys.live);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    await close();
  });

  const windows = (Object.keys(THEMES) as Theme[]).flatMap((theme) => [1280, 390].map((width) => ({ theme, width })));

  test.skipIf(chromiumIsMissing).each(windows)('shows what there is, $theme, $width pixels wide', async (window) => {
    const { page, complaints, close } = await open(window.theme, window.width);
    await page.goto('/dashboard/messages');
    await page.getByText('Your order 19 has shipped').waitFor();
    expect(await look(page, `messages-${window.theme}-${window.width}`)).toEqual({ violations: [], isTooWide: false });
    expect(complaints).toEqual([]);
    await close();
  });

  test.skipIf(chromiumIsMissing).each(windows)('explains a message, $theme, $width pixels wide', async (window) => {
    const { page, complaints, close } = await open(window.theme, window.width);
    await page.goto(`/dashboard/messages/${hostile}`);
    await page.getByRole('region', { name: 'Explanation' }).waitFor();
    const name = `${window.theme}-${window.width}`;
    expect(await look(page, `message-${name}`)).toEqual({ violations: [], isTooWide: false });
    await page.getByRole('link', { name: 'HTML' }).click();
    await page.getByText('<h1>On its way</h1>').waitFor();
    expect(await look(page, `message-html-${name}`)).toEqual({ violations: [], isTooWide: false });
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test.skipIf(chromiumIsMissing).each(windows)('rotates a key, $theme, $width pixels wide', async (window) => {
    const { page, complaints, close } = await open(window.theme, window.width);
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).waitFor();
    const name = `${window.theme}-${window.width}`;
    expect(await look(page, `keys-${name}`)).toEqual({ violations: [], isTooWide: false });
    await page.getByText(/^first test admin key/).click();
    await page.getByText('Created with').waitFor();
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByLabel('End the old value now').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByText(/^ob_test_/).waitFor();
    expect(await look(page, `key-value-${name}`)).toEqual({ violations: [], isTooWide: false });
    await page.getByRole('button', { name: 'It is stored' }).click();
    await page
      .getByText(/ended at once/)
      .first()
      .waitFor();
    expect(await look(page, `key-${name}`)).toEqual({ violations: [], isTooWide: false });
    expect(complaints).toEqual([]);
    await close();
  });

  test.skipIf(chromiumIsMissing)('does nothing on any screen that its policy forbids', async () => {
    if (browser === undefined) return;
    const window = {
      baseUrl: program.baseUrl,
      theme: 'light',
      width: 1280,
      keys: { live: program.keys.live },
    } as const;
    const { page, complaints, close } = await openWindow(browser, { ...window, keepsPolicy: true });
    await page.goto('/dashboard/messages');
    await page.getByText('Your order 19 has shipped').waitFor();
    await page.goto(`/dashboard/messages/${hostile}`);
    await page.getByRole('region', { name: 'Explanation' }).waitFor();
    await page.getByRole('link', { name: 'HTML' }).click();
    await page.getByText('<h1>On its way</h1>').waitFor();
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).click();
    await page.getByText('Created with').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test.skipIf(chromiumIsMissing)('shows new mail by itself, and runs nothing that is in it', async () => {
    const { page, complaints, close } = await open('light', 1280);
    await page.goto('/dashboard/messages');
    await page.getByText('gnp.exe').waitFor();
    await page.getByRole('img', { name: /^Live:/ }).waitFor();
    await send('late@example.net', 'This came while you looked');
    await page.getByText('This came while you looked').waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test.skipIf(chromiumIsMissing)('loads few bytes', async () => {
    if (browser === undefined) return;
    const context = await browser.newContext();
    const page = await context.newPage();
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      const { pathname } = new URL(request.url());
      if (!pathname.startsWith('/v1/')) sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    await page.addInitScript(
      (key) => sessionStorage.setItem('outbox-keys', JSON.stringify({ live: key })),
      program.keys.live,
    );
    await page.goto(`${program.baseUrl}/dashboard/messages`);
    await page.getByText('Your order 19 has shipped').waitFor();
    await page.evaluate(() =>
      (globalThis as unknown as { document: { fonts: { ready: Promise<unknown> } } }).document.fonts.ready.then(
        () => 0,
      ),
    );
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(10_000);
    expect(total).toBeLessThan(FIRST_LOAD_BYTES_MAX);
    await context.close();
  });
});
