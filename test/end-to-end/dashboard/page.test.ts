import { describe, expect, test } from 'vitest';
import { look, openWindow } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE } from './support.ts';

/** Size of the shell, the list and the fonts as transferred. */
const FIRST_LOAD_BYTES_MAX = 150_000;

describe('the dashboard page', () => {
  const dashboard = startDashboard();

  test('is public, may load nothing from other sites, and has cacheable files', async () => {
    const { baseUrl } = dashboard.program;
    const page = await fetch(`${baseUrl}/dashboard/messages/msg_x?peek=1`);
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const known = { 'if-none-match': page.headers.get('etag') ?? '' };
    expect((await fetch(`${baseUrl}/dashboard`, { headers: known })).status).toBe(304);
    const [script = ''] = /\/dashboard\/assets\/[\w-]+\.js/.exec(await page.text()) ?? [];
    const file = await fetch(baseUrl + script, { headers: { 'accept-encoding': 'br' } });
    expect(file.headers.get('cache-control')).toContain('immutable');
    expect(file.headers.get('content-encoding')).toBe('br');
    expect((await fetch(`${baseUrl}/dashboard/assets/main-NONE.js`)).status).toBe(404);
  });

  test.skipIf(chromiumIsMissing)('asks for a key, and rejects a wrong one', async () => {
    const { program, browser } = dashboard;
    const { page, close } = await openWindow(browser, { baseUrl: program.baseUrl, ...WIDE });
    await page.goto('/dashboard');
    await page.getByLabel('API key').fill('ob_live_wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await look(page, 'sign-in')).toEqual(FINE);
    await page.getByLabel('API key').fill(program.keys.live);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await close();
  });

  test.skipIf(chromiumIsMissing)('reloads once when one of its files is missing', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages');
    await page.getByLabel('Search messages').waitFor();
    let refused = 0;
    await page.route('**/dashboard/assets/chunk-*.js', (route) => {
      refused += 1;
      return refused === 1 ? route.fulfill({ status: 404 }) : route.continue();
    });
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create a key' }).waitFor();
    expect(refused).toBeGreaterThan(1);
    await close();
  });

  test.skipIf(chromiumIsMissing)('loads few bytes', async () => {
    const { page, close } = await dashboard.open(WIDE);
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      const { pathname } = new URL(request.url());
      if (!pathname.startsWith('/v1/')) sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    await page.goto('/dashboard/messages');
    await page.getByLabel('Search messages').waitFor();
    await page.evaluate(() =>
      (globalThis as unknown as { document: { fonts: { ready: Promise<unknown> } } }).document.fonts.ready.then(
        () => 0,
      ),
    );
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(10_000);
    expect(total).toBeLessThan(FIRST_LOAD_BYTES_MAX);
    await close();
  });
});
