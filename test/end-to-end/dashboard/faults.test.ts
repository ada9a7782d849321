import { Client } from 'pg';
import type { Page, Route } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, NARROW, startDashboard, WIDE } from './support.ts';

/**
 * How the dashboard reports failures of the service, of the network and of a deployment, and recovers without a reload.
 */

const UNAVAILABLE = {
  status: 503,
  headers: { 'x-request-id': 'req_00000000000000000000000000000000' },
  json: { error: { code: 'unavailable', message: 'the database does not answer just now' } },
};

describe.skipIf(chromiumIsMissing)('an error', { timeout: 240_000 }, () => {
  let webhookId = '';
  const send = (subject: string) =>
    dashboard.api.post('/v1/messages/send', { from: 'shop@example.test', to: 'ann@example.net', subject, text: 'Hi.' });
  const dashboard = startDashboard(async ({ api }) => {
    await send('Your order');
    webhookId = (await api.post('/v1/webhooks', { url: 'https://localhost:1/hook', events: ['message.*'] })).body.id;
  });

  const fail = (route: Route): Promise<void> => route.fulfill(UNAVAILABLE);
  /** Marks the page, to detect a reload. */
  const mark = (page: Page): Promise<void> => page.evaluate('void (globalThis.isKept = true)');
  const isKept = (page: Page): Promise<boolean> => page.evaluate('globalThis.isKept === true');

  test('keeps displayed and typed content, says since when it lasts, and disappears automatically', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/webhooks/${webhookId}`);
    const since = page.getByLabel('From', { exact: true });
    await since.fill('2026-01-30T22:00:00');
    await page.route('**/v1/webhooks/**', fail);
    await page.getByText(/^Not updated since \d\d:\d\d:\d\d\.$/).waitFor();
    expect(await since.inputValue()).toMatch(/^2026-01-30T22:00/);
    expect(await since.evaluate((element) => element.matches(':focus'))).toBe(true);
    expect(await look(page, 'fault-older')).toEqual(FINE);
    await page.unroute('**/v1/webhooks/**');
    await page.getByText('Not updated since').waitFor({ state: 'detached' });
    expect(await since.inputValue()).toMatch(/^2026-01-30T22:00/);
    await close();
  });

  test('keeps the rows of a list while new mail arrives', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages');
    await page.getByText('Your order').first().waitFor();
    await page.getByRole('img', { name: /^Live:/ }).waitFor();
    await page.route('**/v1/messages**', fail);
    await send('A later one');
    await page.getByText('Not updated since').waitFor();
    await page.getByText('Your order').first().waitFor();
    await page.unroute('**/v1/messages**');
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('A later one').first().waitFor();
    await page.getByText('Not updated since').waitFor({ state: 'detached' });
    expect(await page.getByText('Your order').count()).toBeGreaterThan(0);
    await close();
  });

  test('on the first load names its request, says that nothing is lost, and disappears automatically', async () => {
    const { page, close } = await dashboard.open(NARROW);
    await page.route('**/v1/messages?**', fail);
    await page.goto('/dashboard/messages');
    const alert = page.getByRole('alert');
    await alert.getByText(/The database does not answer just now\. No data is lost\./).waitFor();
    await alert.getByText('req_00000000000000000000000000000000').waitFor();
    await alert.getByText(/Retrying in \d+ s\./).waitFor();
    expect(await look(page, 'fault-first')).toEqual(FINE);
    await page.unroute('**/v1/messages?**');
    await page.getByText('Your order').first().waitFor();
    expect(await alert.count()).toBe(0);
    await close();
  });

  /** Screens with a list, and what they say when it is empty. */
  const EMPTY_LISTS = [
    ['/messages?to=nobody%40example.org', 'No matching messages'],
    ['/events?types=template.*', 'No events of this kind yet'],
    ['/statistics?recipient_domain=nowhere.example', 'No mail in this period'],
    ['/templates', 'No templates'],
    ['/requests?code=unauthorized', 'No matching requests'],
    ['/webhooks/WEBHOOK?status=delivered', 'No matching deliveries'],
    ['/delivery', 'No deferred mail'],
    ['/suppressions', 'No suppressed addresses'],
    ['/inbox?subject=nothing', 'No matching mail'],
    ['/audit?q=nothinglikethis', 'No matching entries'],
    ['/billing', 'No invoices yet'],
  ] as const;

  test('stands alone: no screen also says that its list is empty', async () => {
    const { page, close } = await dashboard.open(WIDE);
    const refuse = (route: Route): Promise<void> =>
      route.fulfill({ status: 400, json: { error: { code: 'invalid_request', message: 'refused', details: {} } } });
    for (const [path, words] of EMPTY_LISTS) {
      await page.goto(`/dashboard${path.replace('WEBHOOK', webhookId)}`);
      const empty = page.locator('main').getByText(words, { exact: true });
      await empty.waitFor();
      const isRead = /\/v1\/(?!session|organization)/;
      await page.route(isRead, refuse);
      // A page that is looked at again reads what is older than two seconds: the list may be the last to be refused.
      const seen = await eventually(
        async () => {
          await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
          const refusals = await page.locator('main').getByText('The request was refused.').count();
          return { path, isRefused: refusals > 0, empties: await empty.count() };
        },
        ({ isRefused, empties }) => isRefused && empties === 0,
        60_000,
      );
      expect(seen).toEqual({ path, isRefused: true, empties: 0 });
      await page.unroute(isRead);
    }
    await close();
  });

  test('about a lagging read model keeps its rows, says since when they are old, and disappears once it has caught up', async () => {
    const [shown, later] = [await dashboard.open(WIDE), await dashboard.open(NARROW)];
    await shown.page.goto('/dashboard/messages');
    await shown.page.getByText('Your order').first().waitFor();
    await shown.page.getByRole('img', { name: /^Live:/ }).waitFor();
    const holder = new Client({ connectionString: dashboard.databaseUrl });
    await holder.connect();
    await holder.query('begin');
    // The lock blocks the projection, but not its readers.
    await holder.query("select from read_models.checkpoints where name = 'messages' for update");
    await send('Not there yet');
    await shown.page.getByText('Not updated since').waitFor();
    expect(await shown.page.getByText('Your order').first().isVisible()).toBe(true);
    expect(await look(shown.page, 'fault-behind')).toEqual(FINE);
    await later.page.goto('/dashboard/messages');
    await later.page.getByText('Your order').first().waitFor();
    await later.page.getByText('Not updated since').waitFor();
    expect(await later.page.getByText('Not there yet').count()).toBe(0);
    await holder.query('rollback');
    await holder.end();
    for (const { page, close } of [shown, later]) {
      await page.getByText('Not there yet').first().waitFor();
      await page.getByText('Not updated since').waitFor({ state: 'detached' });
      expect(await page.getByRole('alert').count()).toBe(0);
      await close();
    }
  });

  test('of the network keeps the page, which resumes where it was', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages');
    await page.getByRole('img', { name: /^Live:/ }).waitFor();
    await mark(page);
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Templates' }).click();
    await page.getByRole('alert').getByText('The service is not responding.').waitFor();
    expect(await look(page, 'fault-offline')).toEqual(FINE);
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Create a template' }).first().waitFor();
    await page.getByRole('img', { name: /^Live:/ }).waitFor();
    expect(await isKept(page)).toBe(true);
    await close();
  });

  test('is not shown while the data of a screen loads: its heading is', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.route(/\/v1\/(?:messages|webhooks)\b/, () => undefined);
    for (const [path, name] of [
      ['', 'Overview'],
      ['/messages/msg_00000000000000000000000000', 'Message'],
      [`/webhooks/${webhookId}`, 'Webhook'],
    ]) {
      await page.goto(`/dashboard${path}`);
      await page.locator('main').getByText('Loading').first().waitFor();
      expect(await page.locator('main h1').allTextContents()).toEqual([name]);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test('is not shown while the code of a screen loads slowly', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages');
    await page.getByText('Your order').first().waitFor();
    await page.route('**/dashboard/assets/chunk-*.js', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await route.continue();
    });
    await page.getByRole('link', { name: 'Templates' }).click();
    const loading = page.locator('main').getByText('Loading');
    await loading.waitFor();
    expect(await page.getByRole('heading', { level: 1, name: 'Templates' }).count()).toBe(1);
    await page.getByRole('button', { name: 'Create a template' }).first().waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('is not shown when two versions are served at one address', async () => {
    const { page, close } = await dashboard.open(WIDE);
    /** Every second request for a file reaches the other version, where the file has another name. */
    let turn = 0;
    await page.route(/\/dashboard\/assets\/(main|chunk)-/, (route) => {
      turn += 1;
      return turn <= 4 && turn % 2 === 1 ? route.fulfill({ status: 404 }) : route.continue();
    });
    await page.goto('/dashboard/messages');
    await page.getByText('Your order').first().waitFor();
    expect(turn).toBeGreaterThan(4);
    await close();
  });

  test('about missing files is shown, without retrying for ever', async () => {
    const { page, close } = await dashboard.open(WIDE);
    let asked = 0;
    await page.route(/\/dashboard\/assets\/main-.*\.js/, (route) => {
      asked += 1;
      return route.fulfill({ status: 404 });
    });
    await page.goto('/dashboard/messages');
    await page.getByText('Some files of the dashboard are missing.').waitFor();
    expect(asked).toBe(8);
    await close();
  });
});
